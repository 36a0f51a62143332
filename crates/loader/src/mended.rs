//! How often a policy was put back after another hand had changed it. The number stands in the policy itself, so that it
//! outlives the service and whoever reads the policies finds it.

use crate::error::Result;
use crate::loader::Loader;
use crate::policy::Policies;
use crate::policy_state::Policy;

impl Loader {
    /// Writes the number into the policies of these cgroups, by id. A cgroup without a policy is passed over, and so is one
    /// with a canary: its promotion writes the policy as it was when the canary began.
    ///
    /// # Errors
    /// The lock, or a policy that cannot be read or written.
    pub fn note_mended(&self, counts: &[(u64, u32)]) -> Result<()> {
        let _lock = self.lock()?;
        let Some(policies) = Policies::open(&self.paths)? else { return Ok(()) };
        for &(id, mended) in counts {
            match policies.get(id)? {
                Some(policy) if policy.mended != mended && policy.canary.is_none() => {
                    policies.set(id, &Policy { mended, ..policy })?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
