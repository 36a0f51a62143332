//! Which thread carries which paths: paths with a link in common stay together.

use ccactl_link::network::{Path, Stage};

/// Paths and transmitters of each thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shares {
    /// By path, the number of its thread.
    pub paths: Vec<usize>,
    /// By transmitter.
    pub transmitters: Vec<usize>,
}

impl Shares {
    /// All of one thread.
    #[must_use]
    pub fn whole(paths: usize, transmitters: usize) -> Shares {
        Shares { paths: vec![0; paths], transmitters: vec![0; transmitters] }
    }

    /// Among at most so many threads: paths that meet at a transmitter go to one of them, and each thread gets about as many paths.
    #[must_use]
    pub fn among(threads: usize, paths: &[Path], transmitters: usize) -> Shares {
        let mut group: Vec<usize> = (0..transmitters).collect();
        for path in paths {
            let mut passed = transmitters_of(path);
            if let Some(first) = passed.next() {
                passed.for_each(|other| join(&mut group, first, other));
            }
        }
        let mut thread_of_group = vec![None; transmitters];
        let mut load = vec![0; threads.max(1)];
        let mut shares = Shares::whole(paths.len(), transmitters);
        for (path, thread) in paths.iter().zip(&mut shares.paths) {
            let least = (0..load.len()).min_by_key(|thread| load[*thread]).unwrap_or(0);
            *thread = match transmitters_of(path).next() {
                Some(first) => *thread_of_group[root(&group, first)].get_or_insert(least),
                None => least,
            };
            load[*thread] += 1;
        }
        for (transmitter, thread) in shares.transmitters.iter_mut().enumerate() {
            *thread = thread_of_group[root(&group, transmitter)].unwrap_or(0);
        }
        shares
    }

    /// How many threads have paths.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.paths.iter().max().map_or(1, |last| last + 1)
    }
}

fn transmitters_of(path: &Path) -> impl Iterator<Item = usize> {
    path.up.stages.iter().chain(&path.down.stages).filter_map(|stage| match stage {
        Stage::Transmitter(index) | Stage::Snoop(index) => Some(*index),
        Stage::Delay(_) => None,
    })
}

fn root(group: &[usize], mut index: usize) -> usize {
    while group[index] != index {
        index = group[index];
    }
    index
}

fn join(group: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(group, a), root(group, b));
    group[a.max(b)] = a.min(b);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccactl_link::network::{Route, Way};

    fn path(transmitters: &[usize]) -> Path {
        let stages = transmitters.iter().map(|index| Stage::Transmitter(*index)).collect();
        Path { up: Route { stages }, down: Route { stages: Vec::new() }, data: Way::Up, class: 0 }
    }

    #[test]
    fn paths_that_meet_stay_together_and_threads_have_about_as_many() {
        let apart: Vec<Path> = (0..5).map(|index| path(&[index])).collect();
        let shares = Shares::among(2, &apart, 5);
        assert_eq!((&shares.paths[..], &shares.transmitters[..]), (&[0, 1, 0, 1, 0][..], &[0, 1, 0, 1, 0][..]));
        // 0 and 2 meet at transmitter 3, which 2 and 3 have in common too.
        let meeting = [path(&[0, 3]), path(&[1]), path(&[3]), path(&[2, 3])];
        let shares = Shares::among(2, &meeting, 4);
        assert_eq!((&shares.paths[..], &shares.transmitters[..]), (&[0, 1, 0, 0][..], &[0, 1, 0, 0][..]));
        assert_eq!(shares.threads(), 2);
        let one_link: Vec<Path> = (0..4).map(|_| path(&[0])).collect();
        assert_eq!(Shares::among(4, &one_link, 1).threads(), 1);
    }
}
