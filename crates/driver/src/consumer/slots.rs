//! Handlers that are running: a fixed set of reused places, each with a waker of its own.
//!
//! A handler's future is put into a place and polled there at once; one that is ready leaves nothing behind, and only a
//! place whose waker fired is polled again. No allocation is made for a message.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use crate::span::Span;
use crate::sync::lock;

/// Running handlers.
#[derive(Debug)]
pub(crate) struct Slots<T, F> {
    slots: Vec<Slot<T, F>>,
    free: Vec<usize>,
    woken: Arc<Woken>,
    taken: Vec<usize>,
    most: usize,
}

#[derive(Debug)]
struct Slot<T, F> {
    future: Pin<Box<Option<F>>>,
    ticket: Option<T>,
    span: Span,
    waker: Waker,
}

/// How a handler ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ran<V> {
    /// With this value.
    Ended(V),
    /// By a panic, which said this.
    Panicked(String),
}

impl<V> Ran<V> {
    fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self::Panicked(text.unwrap_or("something that is no text").to_owned())
    }
}

impl<T, F> Slots<T, F> {
    /// Gives up all handlers and returns their tickets.
    pub(crate) fn cancel(&mut self) -> Vec<T> {
        let mut tickets = Vec::new();
        for (at, slot) in self.slots.iter_mut().enumerate() {
            if let Some(ticket) = slot.ticket.take() {
                clear(&mut slot.future);
                self.free.push(at);
                tickets.push(ticket);
            }
        }
        tickets
    }
}

impl<T, F: Future> Slots<T, F> {
    pub(crate) fn new(most: usize) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), woken: Arc::default(), taken: Vec::new(), most }
    }

    /// How many more handlers may run.
    pub(crate) fn room(&self) -> usize {
        self.most - self.running()
    }

    /// Handlers that are running.
    pub(crate) fn running(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Runs a handler as far as it goes. There must be room.
    pub(crate) fn start(&mut self, ticket: T, span: Span, make: impl FnOnce() -> F) -> Option<(T, Ran<F::Output>)> {
        let future = match catch_unwind(AssertUnwindSafe(|| span.inside(make))) {
            Ok(future) => future,
            Err(payload) => return Some((ticket, Ran::panicked(&*payload))),
        };
        let at = self.free.pop().unwrap_or_else(|| self.add());
        let slot = &mut self.slots[at];
        slot.future.set(Some(future));
        slot.ticket = Some(ticket);
        slot.span = span;
        self.poll(at)
    }

    /// Polls the handlers whose wakers fired; `waker` is woken when another does. Each that ended goes to `sink`.
    pub(crate) fn poll_woken(&mut self, waker: &Waker, mut sink: impl FnMut(T, Ran<F::Output>)) {
        let mut taken = std::mem::take(&mut self.taken);
        self.woken.take(waker, &mut taken);
        for at in taken.drain(..) {
            if let Some((ticket, ran)) = self.poll(at) {
                sink(ticket, ran);
            }
        }
        self.taken = taken;
    }

    fn add(&mut self) -> usize {
        let at = self.slots.len();
        let waker = SlotWaker { at, queued: AtomicBool::new(false), woken: Arc::clone(&self.woken) };
        self.slots.push(Slot {
            future: Box::pin(None),
            ticket: None,
            span: Span::none(),
            waker: Waker::from(Arc::new(waker)),
        });
        at
    }

    fn poll(&mut self, at: usize) -> Option<(T, Ran<F::Output>)> {
        let slot = self.slots.get_mut(at)?;
        let future = slot.future.as_mut().as_pin_mut()?;
        let mut cx = Context::from_waker(&slot.waker);
        let span = &slot.span;
        let ran = match catch_unwind(AssertUnwindSafe(|| span.inside(|| future.poll(&mut cx)))) {
            Ok(Poll::Pending) => return None,
            Ok(Poll::Ready(value)) => Ran::Ended(value),
            Err(payload) => Ran::panicked(&*payload),
        };
        clear(&mut slot.future);
        self.free.push(at);
        slot.ticket.take().map(|ticket| (ticket, ran))
    }
}

/// Drops a future, which may panic too.
fn clear<F>(future: &mut Pin<Box<Option<F>>>) {
    // What a destructor threw has been said by the panic hook; the place is empty either way.
    let _ = catch_unwind(AssertUnwindSafe(|| future.set(None)));
}

#[derive(Debug, Default)]
struct Woken {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    slots: Vec<Arc<SlotWaker>>,
    waker: Option<Waker>,
}

impl Woken {
    fn take(&self, waker: &Waker, into: &mut Vec<usize>) {
        let mut state = lock(&self.state);
        match &mut state.waker {
            Some(known) if known.will_wake(waker) => {}
            other => *other = Some(waker.clone()),
        }
        for slot in state.slots.drain(..) {
            slot.queued.store(false, Ordering::Release);
            into.push(slot.at);
        }
    }
}

#[derive(Debug)]
struct SlotWaker {
    at: usize,
    queued: AtomicBool,
    woken: Arc<Woken>,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        Self::wake_by_ref(&self);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let waker = {
            let mut state = lock(&self.woken.state);
            if self.queued.swap(true, Ordering::AcqRel) {
                return;
            }
            state.slots.push(Arc::clone(self));
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::CountingWaker;
    use std::cell::RefCell;
    use std::rc::Rc;

    type Shared = Rc<RefCell<(Option<Waker>, bool)>>;

    /// Ready once the flag is set; leaves its waker beside it.
    fn gate(shared: &Shared) -> impl Future<Output = u8> + use<> {
        let shared = Rc::clone(shared);
        std::future::poll_fn(move |cx| {
            let mut state = shared.borrow_mut();
            state.0 = Some(cx.waker().clone());
            if state.1 { Poll::Ready(7) } else { Poll::Pending }
        })
    }

    #[test]
    fn only_a_woken_handler_is_polled_again() {
        let worker = CountingWaker::new();
        let mut slots = Slots::new(2);
        let (one, two) = (Shared::default(), Shared::default());
        slots.poll_woken(&worker.waker(), |_: &str, _| {});
        assert_eq!(slots.start("one", Span::none(), || gate(&one)), None);
        assert_eq!(slots.start("two", Span::none(), || gate(&two)), None);
        assert_eq!((slots.room(), slots.running()), (0, 2));
        // Both could end, but only one was woken.
        (one.borrow_mut().1, two.borrow_mut().1) = (true, true);
        let waker = two.borrow_mut().0.take().expect("it was polled");
        waker.wake_by_ref();
        waker.wake();
        assert_eq!(worker.count(), 1);
        let mut ended = Vec::new();
        slots.poll_woken(&worker.waker(), |ticket, ran| ended.push((ticket, ran)));
        assert_eq!(ended, [("two", Ran::Ended(7))]);
        assert_eq!(
            slots.start("three", Span::none(), || gate(&two)),
            Some(("three", Ran::Ended(7))),
            "the place is free again"
        );
        assert_eq!(slots.cancel(), ["one"]);
        assert_eq!(slots.running(), 0);
        assert_eq!(Rc::strong_count(&one), 1, "a cancelled handler is dropped");
    }

    #[test]
    fn a_panic_ends_one_handler_and_no_other() {
        let mut slots = Slots::new(1);
        let boom = || -> std::future::Ready<u8> { panic!("on purpose, while the handler is made") };
        assert_eq!(
            slots.start(1, Span::none(), boom),
            Some((1, Ran::Panicked("on purpose, while the handler is made".into())))
        );
        let mut slots = Slots::new(1);
        let later = || std::future::poll_fn(|_| -> Poll<u8> { panic!("on purpose, while the handler runs") });
        assert_eq!(
            slots.start(2, Span::none(), later),
            Some((2, Ran::Panicked("on purpose, while the handler runs".into())))
        );
        assert_eq!(slots.room(), 1);
    }
}
