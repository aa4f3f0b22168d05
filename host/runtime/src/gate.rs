//! Lets a fixed number of calls run at one time, so that the pool of instances is never exhausted.

use std::sync::{Condvar, Mutex, PoisonError};

/// A counting gate.
#[derive(Debug)]
pub(crate) struct Gate {
    free: Mutex<u32>,
    freed: Condvar,
}

/// The right to run; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit<'a>(&'a Gate);

impl Gate {
    pub(crate) fn new(permits: u32) -> Self {
        Self { free: Mutex::new(permits.max(1)), freed: Condvar::new() }
    }

    /// Waits for its turn.
    pub(crate) fn enter(&self) -> Permit<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn never_more_than_allowed() {
        let (gate, inside, most) = (Gate::new(2), AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _permit = gate.enter();
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 2);
        assert_eq!(*gate.free.lock().unwrap(), 2);
    }
}
