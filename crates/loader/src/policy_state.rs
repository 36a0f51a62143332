//! A policy as this crate works with it. `struct cca_policy` is read and written here and nowhere else.

use crate::request::Choice;
use ccactl_abi::EcnNeed;
use ccactl_abi::layout::{
    self, NAME_LEN, POLICY_ACCECN, POLICY_CANARY_ACCECN, POLICY_CANARY_ECN, POLICY_ECN, POLICY_ENFORCE, POLICY_LEAVING,
    POLICY_LIVE_ACCECN, POLICY_LIVE_ECN, POLICY_MOVING, name_bytes, name_str,
};

/// What the sockets of a cgroup are to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Policy {
    /// What new sockets get.
    pub(crate) given: Given,
    /// What a share of the sockets gets instead.
    pub(crate) canary: Option<Trial>,
    pub(crate) stage: Stage,
    /// What applications choose themselves is overruled.
    pub(crate) enforce: bool,
    pub(crate) attached_unix_ns: u64,
    /// Depth of the cgroup below the cgroup2 root.
    pub(crate) level: u32,
    /// Times that `apply --watch` has put it back.
    pub(crate) mended: u32,
}

/// An algorithm that sockets are to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) kernel_name: String,
    /// What the SYN asks for.
    pub(crate) ecn: EcnNeed,
}

impl Given {
    pub(crate) fn new(choice: &Choice) -> Self {
        Self { kernel_name: choice.kernel_name().to_owned(), ecn: choice.ecn() }
    }
}

/// The bits that say what one of a policy's names needs.
struct EcnBits {
    ecn: u32,
    accecn: u32,
}

const GIVEN: EcnBits = EcnBits { ecn: POLICY_ECN, accecn: POLICY_ACCECN };
const CANARY: EcnBits = EcnBits { ecn: POLICY_CANARY_ECN, accecn: POLICY_CANARY_ACCECN };
const LIVE: EcnBits = EcnBits { ecn: POLICY_LIVE_ECN, accecn: POLICY_LIVE_ACCECN };

impl EcnBits {
    fn read(&self, flags: u32) -> EcnNeed {
        match (flags & self.ecn != 0, flags & self.accecn != 0) {
            (false, _) => EcnNeed::None,
            (true, false) => EcnNeed::Classic,
            (true, true) => EcnNeed::Accurate,
        }
    }

    fn of(&self, need: EcnNeed) -> u32 {
        match need {
            EcnNeed::None => 0,
            EcnNeed::Classic => self.ecn,
            EcnNeed::Accurate => self.ecn | self.accecn,
        }
    }
}

/// The canary of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trial {
    pub(crate) given: Given,
    /// Of [`layout::CANARY_ALL`].
    pub(crate) share: u32,
    pub(crate) since_unix_ns: u64,
}

/// Where the live sockets of a policy are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nobody moves them.
    Settled,
    /// They are being moved to what new ones get.
    Moving,
    /// They are being moved to something else.
    MovingTo(Given),
    /// The policy is being taken back. All sockets get this algorithm of the kernel's own, or what they had before.
    Leaving { restore: Option<String> },
}

impl Policy {
    pub(crate) fn read(raw: &layout::Policy) -> Self {
        let has = |flag| raw.flags & flag != 0;
        let given = |name, bits: EcnBits| Some(Given { kernel_name: named(name)?, ecn: bits.read(raw.flags) });
        let trial = |given| Trial { given, share: raw.canary_share, since_unix_ns: raw.canary_unix_ns };
        let stage = if has(POLICY_LEAVING) {
            Stage::Leaving { restore: named(&raw.live_name) }
        } else if has(POLICY_MOVING) {
            given(&raw.live_name, LIVE).map_or(Stage::Moving, Stage::MovingTo)
        } else {
            Stage::Settled
        };
        Self {
            given: Given { kernel_name: name_str(&raw.kernel_name).to_owned(), ecn: GIVEN.read(raw.flags) },
            canary: given(&raw.canary_name, CANARY).map(trial),
            stage,
            enforce: has(POLICY_ENFORCE),
            attached_unix_ns: raw.attached_unix_ns,
            level: raw.level,
            mended: raw.mended,
        }
    }

    pub(crate) fn raw(&self) -> layout::Policy {
        let (state, live) = match &self.stage {
            Stage::Settled => (0, None),
            Stage::Moving => (POLICY_MOVING, None),
            Stage::MovingTo(given) => (POLICY_MOVING | LIVE.of(given.ecn), Some(&given.kernel_name)),
            Stage::Leaving { restore } => (POLICY_LEAVING, restore.as_ref()),
        };
        let canary = self.canary.as_ref();
        let flags = state
            | GIVEN.of(self.given.ecn)
            | canary.map_or(0, |trial| CANARY.of(trial.given.ecn))
            | if self.enforce { POLICY_ENFORCE } else { 0 };
        layout::Policy {
            kernel_name: bytes(&self.given.kernel_name),
            live_name: live.map_or([0; NAME_LEN], |name| bytes(name)),
            canary_name: canary.map_or([0; NAME_LEN], |trial| bytes(&trial.given.kernel_name)),
            attached_unix_ns: self.attached_unix_ns,
            canary_unix_ns: canary.map_or(0, |trial| trial.since_unix_ns),
            level: self.level,
            flags,
            canary_share: canary.map_or(0, |trial| trial.share),
            mended: self.mended,
        }
    }

    /// The policy as it was before its canary.
    pub(crate) fn without_canary(&self) -> Self {
        Self { canary: None, ..self.clone() }
    }

    /// The policy while its live sockets are moved.
    pub(crate) fn moving(&self) -> Self {
        let is_elsewhere = matches!(self.stage, Stage::MovingTo(_));
        Self { stage: if is_elsewhere { self.stage.clone() } else { Stage::Moving }, ..self.clone() }
    }

    /// The policy once its live sockets are moved.
    pub(crate) fn settled(&self) -> Self {
        Self { stage: Stage::Settled, ..self.clone() }
    }

    /// Whether new sockets get the same from both.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.given == other.given && self.enforce == other.enforce
    }

    pub(crate) fn is_leaving(&self) -> bool {
        matches!(self.stage, Stage::Leaving { .. })
    }

    /// Whether one of its algorithms needs Accurate ECN.
    pub(crate) fn needs_accecn(&self) -> bool {
        let live = if let Stage::MovingTo(given) = &self.stage { Some(given) } else { None };
        let canary = self.canary.as_ref().map(|trial| &trial.given);
        [Some(&self.given), live, canary].into_iter().flatten().any(|given| given.ecn == EcnNeed::Accurate)
    }

    /// The algorithms that the policy refers to.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let live = match &self.stage {
            Stage::MovingTo(given) => Some(&given.kernel_name),
            Stage::Leaving { restore } => restore.as_ref(),
            Stage::Settled | Stage::Moving => None,
        };
        let canary = self.canary.as_ref().map(|trial| &trial.given.kernel_name);
        [Some(&self.given.kernel_name), live, canary].into_iter().flatten().map(String::as_str)
    }
}

fn named(name: &[u8; NAME_LEN]) -> Option<String> {
    Some(name_str(name)).filter(|name| !name.is_empty()).map(str::to_owned)
}

fn bytes(name: &str) -> [u8; NAME_LEN] {
    name_bytes(name).expect("kernel names are checked when parsed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(name: &str, ecn: EcnNeed) -> Given {
        Given { kernel_name: name.to_owned(), ecn }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let canary = Trial { given: given("c", EcnNeed::Accurate), share: 7, since_unix_ns: 8 };
        let plain = Policy {
            given: given("a", EcnNeed::Classic),
            canary: None,
            stage: Stage::Settled,
            enforce: false,
            attached_unix_ns: 1,
            level: 2,
            mended: 3,
        };
        let stages = [
            (Stage::Settled, POLICY_ECN),
            (Stage::Moving, POLICY_ECN | POLICY_MOVING),
            (Stage::MovingTo(given("b", EcnNeed::None)), POLICY_ECN | POLICY_MOVING),
            (Stage::MovingTo(given("b", EcnNeed::Classic)), POLICY_ECN | POLICY_MOVING | POLICY_LIVE_ECN),
            (
                Stage::MovingTo(given("b", EcnNeed::Accurate)),
                POLICY_ECN | POLICY_MOVING | POLICY_LIVE_ECN | POLICY_LIVE_ACCECN,
            ),
            (Stage::Leaving { restore: None }, POLICY_ECN | POLICY_LEAVING),
            (Stage::Leaving { restore: Some("d".to_owned()) }, POLICY_ECN | POLICY_LEAVING),
        ];
        for (stage, flags) in stages {
            let without = Policy { stage, ..plain.clone() };
            assert_eq!(without.raw().flags, flags);
            let with = Policy { canary: Some(canary.clone()), enforce: true, ..without.clone() };
            assert_eq!(with.raw().flags, flags | POLICY_CANARY_ECN | POLICY_CANARY_ACCECN | POLICY_ENFORCE);
            for policy in [without, with] {
                assert_eq!(Policy::read(&policy.raw()), policy);
            }
        }
    }
}
