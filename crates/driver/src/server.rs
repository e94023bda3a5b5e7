//! Servers in this process: any machine that accepts connections, on sockets or in memory.
//!
//! [`Listener::bind`] first, so that the address is known which the machine may have to announce; then
//! [`Listener::serve`]. A [`Server`] that is dropped stops.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::Arc;

use rocketry_codec::frame::Frame;
use rocketry_machine::{Acceptor, Endpoint, Machine, Now, PeerInfo, Seed};

use crate::clock::{self, Clock};
use crate::driver::{Engine, Waiting};
use crate::end::Ended;
use crate::host::{After, Host, Life};
use crate::io::{Connect, Listen, Runtime};
use crate::memory::Network;
use crate::shell::Shell;

/// One or more bound addresses, before anybody serves them.
pub struct Listener<R> {
    listeners: Vec<Box<dyn Listen>>,
    address: Option<SocketAddr>,
    connect: Option<Arc<dyn Connect>>,
    runtime: PhantomData<fn() -> R>,
}

impl<R> fmt::Debug for Listener<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("address", &self.address).finish_non_exhaustive()
    }
}

impl<R: Runtime> Listener<R> {
    /// Binds a TCP address; port 0 picks a free port.
    ///
    /// # Errors
    /// What the operating system reports.
    pub async fn bind(at: SocketAddr) -> io::Result<Self> {
        let (listener, address) = R::listen(at).await?;
        Ok(Self { listeners: vec![listener], address: Some(address), connect: None, runtime: PhantomData })
    }

    /// Listens on an endpoint of a network inside the process; what the machine opens itself goes over that network too.
    #[must_use]
    pub fn in_memory(network: &Network, at: Endpoint) -> Self {
        let connect: Arc<dyn Connect> = Arc::new(network.clone());
        Self { listeners: vec![network.listen(at)], address: None, connect: Some(connect), runtime: PhantomData }
    }

    /// The address that was bound; `None` in memory.
    #[must_use]
    pub const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The addresses of both, for one machine. [`Listener::address`] stays that of the first.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.listeners.extend(other.listeners);
        self
    }

    /// Serves the machine that `make` makes on the current runtime.
    ///
    /// # Errors
    /// When there is no runtime to run on, or no randomness.
    pub fn serve<M>(self, make: impl FnOnce(Now, Seed) -> M) -> io::Result<Server<M>>
    where
        M: Acceptor + Machine<Frame = Frame> + Send + 'static,
    {
        self.serve_with(make, |_| {})
    }

    /// As [`Listener::serve`]; what the machine says goes to `watch`, which must not block.
    ///
    /// # Errors
    /// When there is no runtime to run on, or no randomness.
    pub fn serve_with<M>(
        self,
        make: impl FnOnce(Now, Seed) -> M,
        watch: impl FnMut(M::Event) + Send + 'static,
    ) -> io::Result<Server<M>>
    where
        M: Acceptor + Machine<Frame = Frame> + Send + 'static,
        M::Event: 'static,
    {
        let clock = Clock::system();
        let machine = make(clock.now(), clock::seed()?);
        let host = ServerHost { watch: Box::new(watch), life: Life::Running };
        let shell = Arc::new(Shell::new(machine, host, clock));
        let ended = Arc::new(Ended::default());
        let accept = |machine: &mut M, now: Now, peer: PeerInfo| machine.accept(now, peer);
        let waiting = Waiting {
            connect: self.connect.unwrap_or_else(R::connector),
            timer: R::timer(),
            listeners: self.listeners,
            accept: Some(accept),
        };
        R::spawn(Engine::new(Arc::clone(&shell), waiting, Arc::clone(&ended)))?;
        Ok(Server { shell: Some(shell), ended, address: self.address })
    }
}

/// A served machine. Stops when it is dropped.
#[must_use = "a server that is dropped stops"]
pub struct Server<M>
where
    M: Machine<Frame = Frame>,
    M::Event: 'static,
{
    shell: Option<Arc<Shell<M, ServerHost<M::Event>>>>,
    ended: Arc<Ended>,
    address: Option<SocketAddr>,
}

impl<M> fmt::Debug for Server<M>
where
    M: Machine<Frame = Frame>,
    M::Event: 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl<M> Server<M>
where
    M: Machine<Frame = Frame> + Send,
    M::Event: 'static,
{
    /// The address that is served; `None` in memory.
    #[must_use]
    pub const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Looks into the machine or changes it; what it then wants to send is sent. `look` must not block.
    ///
    /// Returns `None` once the server has stopped.
    pub fn inspect<T>(&self, look: impl FnOnce(&mut M, Now) -> T) -> Option<T> {
        let shell = self.shell.as_ref()?;
        Some(shell.step(|machine, _, now, _| look(machine, now)))
    }

    /// Stops: closes the listeners and all connections. Returns the machine, to be served again.
    ///
    /// Returns `None` if somebody looks into the machine at this moment.
    pub async fn stop(mut self) -> Option<M> {
        let shell = self.shell.take()?;
        halt(&shell);
        self.ended.wait().await;
        Arc::into_inner(shell).map(Shell::into_machine)
    }

    /// Waits until the server has stopped for whatever reason.
    pub async fn stopped(&self) {
        self.ended.wait().await;
    }
}

impl<M> Drop for Server<M>
where
    M: Machine<Frame = Frame>,
    M::Event: 'static,
{
    fn drop(&mut self) {
        if let Some(shell) = &self.shell {
            halt(shell);
        }
    }
}

fn halt<M: Machine<Frame = Frame>>(shell: &Shell<M, ServerHost<M::Event>>)
where
    M::Event: 'static,
{
    shell.step(|_, host, _, _| host.life = Life::Over);
}

/// Takes the events of a served machine.
struct ServerHost<E> {
    watch: Box<dyn FnMut(E) + Send>,
    life: Life,
}

impl<M: Machine> Host<M> for ServerHost<M::Event>
where
    M::Event: 'static,
{
    fn on_event(&mut self, event: M::Event, _after: &mut After) {
        (self.watch)(event);
    }

    fn life(&self) -> Life {
        self.life
    }

    fn on_end(&mut self, _after: &mut After) {}
}
