//! What is on its way, by small numbers that are used again.

/// Values by number.
pub struct Slab<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    pub fn new() -> Slab<T> {
        Slab { values: Vec::new(), free: Vec::new() }
    }

    /// Its number until it is removed.
    pub fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.values[at as usize] = value;
                at
            }
            None => {
                self.values.push(value);
                self.values.len() as u32 - 1
            }
        }
    }

    /// The value; its number may be given to another one.
    pub fn remove(&mut self, at: u32) -> T {
        self.free.push(at);
        self.values[at as usize]
    }
}
