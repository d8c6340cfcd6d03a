//! A queue between threads that is bounded by the size of what is in it.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a receiver gets.
#[derive(Debug)]
pub(crate) enum Popped<T> {
    /// The oldest item.
    Item(T),
    /// Nothing arrived in time.
    Nothing,
    /// Nothing can arrive any more.
    Closed,
}

/// A queue. Its size is the sum of the sizes of its items; one item always fits.
#[derive(Debug)]
pub(crate) struct Lane<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
    room: Condvar,
    limit: usize,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<(T, usize)>,
    size: usize,
    is_closed: bool,
}

impl<T> Lane<T> {
    pub(crate) const fn new(limit: usize) -> Self {
        let state = State { items: VecDeque::new(), size: 0, is_closed: false };
        Self { state: Mutex::new(state), arrived: Condvar::new(), room: Condvar::new(), limit }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item as soon as there is room; an item without a size never waits. Returns false if the receiver is gone.
    pub(crate) fn push(&self, item: T, size: usize) -> bool {
        let mut state = self.state();
        while !state.is_closed && size > 0 && state.size > 0 && state.size + size > self.limit {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.add(state, item, size)
    }

    /// Adds an item without waiting. Returns false if there is no room, or the receiver is gone.
    pub(crate) fn try_push(&self, item: T, size: usize) -> bool {
        let state = self.state();
        if state.size > 0 && state.size + size > self.limit {
            return false;
        }
        self.add(state, item, size)
    }

    fn add(&self, mut state: MutexGuard<'_, State<T>>, item: T, size: usize) -> bool {
        if state.is_closed {
            return false;
        }
        state.items.push_back((item, size));
        state.size += size;
        drop(state);
        self.arrived.notify_one();
        true
    }

    /// Takes the oldest item; waits for one at most this long.
    pub(crate) fn pop(&self, wait: Duration) -> Popped<T> {
        let state = self.state();
        let is_empty = |state: &mut State<T>| state.items.is_empty() && !state.is_closed;
        let (mut state, _) =
            self.arrived.wait_timeout_while(state, wait, is_empty).unwrap_or_else(PoisonError::into_inner);
        match state.items.pop_front() {
            Some((item, size)) => {
                state.size -= size;
                drop(state);
                self.room.notify_all();
                Popped::Item(item)
            }
            None if state.is_closed => Popped::Closed,
            None => Popped::Nothing,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    /// Lets nothing more in. What is in it can still be taken.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.arrived.notify_all();
        self.room.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_and_one_item_always_fits() {
        let lane = Lane::new(10);
        assert!(lane.try_push("large", 100));
        assert!(!lane.try_push("more", 1));
        assert!(lane.push("sizeless", 0));
        assert!(matches!(lane.pop(Duration::ZERO), Popped::Item("large")));
        assert!(lane.try_push("more", 10));
        lane.close();
        assert!(!lane.push("late", 0));
        assert!(matches!(lane.pop(Duration::ZERO), Popped::Item("sizeless")));
        assert!(matches!(lane.pop(Duration::ZERO), Popped::Item("more")));
        assert!(matches!(lane.pop(Duration::ZERO), Popped::Closed));
    }

    #[test]
    fn a_sender_waits_for_room_and_stops_when_the_receiver_is_gone() {
        let lane = Lane::new(1);
        std::thread::scope(|scope| {
            assert!(lane.push(1, 1));
            let second = scope.spawn(|| lane.push(2, 1));
            assert!(matches!(lane.pop(Duration::ZERO), Popped::Item(1)));
            assert!(second.join().unwrap());
            let third = scope.spawn(|| lane.push(3, 1));
            lane.close();
            assert!(!third.join().unwrap());
        });
    }
}
