//! How a client is set up and brought to life.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rocketry_codec::header::Encoding;
use rocketry_codec::sign::Credentials;
use rocketry_core::{Client as Machine, Config, Limits, OnUnreachable};
use rocketry_machine::{Endpoint, Seed};

use super::host::ClientHost;
use super::{Client, ClientCore, identity};
use crate::clock::{self, Clock};
use crate::consumer::inflate::Inflation;
use crate::driver::{Engine, Waiting};
use crate::end::Ended;
use crate::error::Error;
use crate::io::{Connect, Runtime};
use crate::offsets::OffsetFiles;
use crate::shell::Shell;

/// Inflated bodies that handlers of one client may hold, in bytes.
const INFLATED_BYTES: usize = 128 << 20;

/// Sets up a client. Only the name servers are required.
#[must_use = "a client exists once it is built"]
pub struct ClientBuilder<R> {
    config: Config,
    instance: Option<String>,
    unit: Option<String>,
    offset_folder: Option<PathBuf>,
    error: Option<Error>,
    connect: Option<Arc<dyn Connect>>,
    seed: Option<Seed>,
    inflated_bytes: usize,
    runtime: PhantomData<fn() -> R>,
}

impl<R> fmt::Debug for ClientBuilder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("config", &self.config).finish_non_exhaustive()
    }
}

impl<R: Runtime> ClientBuilder<R> {
    pub(crate) fn new() -> Self {
        Self {
            config: Config::new(Vec::new(), ""),
            instance: None,
            unit: None,
            offset_folder: None,
            error: None,
            connect: None,
            seed: None,
            inflated_bytes: INFLATED_BYTES,
            runtime: PhantomData,
        }
    }

    /// Where the name servers are: `host:port`, several separated by `;` or `,`.
    pub fn name_servers(mut self, list: impl AsRef<str>) -> Self {
        match Endpoint::parse_list(list.as_ref()) {
            Ok(servers) => self.config.name_servers = servers,
            Err(error) => self.error = Some(error.into()),
        }
        self
    }

    /// The whole identity towards brokers, instead of `address@instance`. Must differ from that of every other member of
    /// the groups.
    pub fn client_id(mut self, id: impl Into<String>) -> Self {
        self.config.client_id = id.into();
        self
    }

    /// The name of this instance in its client id, instead of one that no other instance has.
    pub fn instance(mut self, name: impl Into<String>) -> Self {
        self.instance = Some(name.into());
        self
    }

    /// The unit name, which is appended to the client id.
    pub fn unit(mut self, name: impl Into<String>) -> Self {
        self.unit = Some(name.into());
        self
    }

    /// Marks the client as one of a stream, as Java does for pull consumers: the client id ends with `@STREAM`, and each
    /// request says so.
    pub const fn stream_requests(mut self) -> Self {
        self.config.stream_requests = true;
        self
    }

    /// Where broadcasting consumers keep their positions, in a folder for each group. Default
    /// `~/.rocketmq_offsets/<address>@<instance>`, with `DEFAULT` where no instance is named: that is where Java's clients
    /// have them. Two clients of one group on one machine need folders or instances of their own.
    pub fn offset_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.offset_folder = Some(folder.into());
        self
    }

    /// How the headers of what we send are written. Default JSON.
    pub const fn header(mut self, encoding: Encoding) -> Self {
        self.config.header = encoding;
        self
    }

    /// Signs every request with this access key.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.config.credentials = Some(credentials);
        self
    }

    /// What starting a producer or consumer does when no name server answers. Default: it fails.
    pub const fn on_unreachable(mut self, policy: OnUnreachable) -> Self {
        self.config.on_unreachable = policy;
        self
    }

    /// Time for one request about routes, members, heartbeats. Default 3 s.
    pub const fn request_timeout(mut self, timeout: Duration) -> Self {
        self.config.request_timeout = timeout;
        self
    }

    /// Time to open a connection. Default 3 s.
    pub const fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.config.connect_timeout = timeout;
        self
    }

    /// Bounds of everything that grows.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.config.limits = limits;
        self
    }

    /// Bytes of inflated bodies that handlers may hold; when they are spent, further handlers wait. Default 128 MiB.
    pub const fn inflated_bytes(mut self, bytes: usize) -> Self {
        self.inflated_bytes = bytes;
        self
    }

    /// Changes any setting of the client machine.
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// Opens connections in another way than over TCP, for example through
    /// [`memory::Network`](crate::memory::Network).
    pub fn connector(mut self, connect: impl Connect + 'static) -> Self {
        self.connect = Some(Arc::new(connect));
        self
    }

    /// Draws what is random from this seed instead of one from the operating system.
    pub const fn seed(mut self, seed: Seed) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The client. Its driver runs on the current runtime; [`Client::closed`] joins it.
    ///
    /// # Errors
    /// A setting that cannot be used, or no runtime to run on.
    pub fn build(self) -> Result<Client<R>, Error> {
        let (client, driver) = self.build_parts()?;
        R::spawn(driver)?;
        Ok(client)
    }

    /// The client, with its driver handed to `spawn` to be run.
    ///
    /// # Errors
    /// A setting that cannot be used.
    pub fn build_with(self, spawn: impl FnOnce(Driver)) -> Result<Client<R>, Error> {
        let (client, driver) = self.build_parts()?;
        spawn(driver);
        Ok(client)
    }

    /// The client and its driver. Nothing happens unless the driver is polled.
    ///
    /// # Errors
    /// A setting that cannot be used.
    pub fn build_parts(mut self) -> Result<(Client<R>, Driver), Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let seed = match self.seed {
            Some(seed) => seed,
            None => clock::seed()?,
        };
        let keeps_id = !self.config.client_id.is_empty();
        if !keeps_id {
            let mut id = identity::client_id(&self.config.name_servers, self.instance.as_deref(), seed);
            if let Some(unit) = self.unit {
                id.push('@');
                id.push_str(&unit);
            }
            if self.config.stream_requests {
                id.push_str("@STREAM");
            }
            self.config.client_id = id;
        }
        let offsets = match self.offset_folder {
            Some(folder) => OffsetFiles::new(folder),
            None if keeps_id => OffsetFiles::usual(&self.config.client_id),
            None => {
                let instance = self.instance.as_deref().unwrap_or("DEFAULT");
                OffsetFiles::usual(&identity::client_id(&self.config.name_servers, Some(instance), seed))
            }
        };
        let client_id = Arc::from(self.config.client_id.as_str());
        let clock = Clock::system();
        let machine = Machine::new(self.config, seed, clock.now())?;
        let shell = Arc::new(Shell::new(machine, ClientHost::new(offsets), clock));
        let ended = Arc::new(Ended::default());
        let waiting = Waiting {
            connect: self.connect.unwrap_or_else(R::connector),
            timer: R::timer(),
            listeners: Vec::new(),
            accept: None,
        };
        let engine = Engine::new(Arc::clone(&shell), waiting, Arc::clone(&ended));
        let inflation = Arc::new(Inflation::new(self.inflated_bytes));
        let core = Arc::new(ClientCore { shell, ended, inflation, client_id });
        Ok((Client::from_core(core), Driver(engine)))
    }
}

/// Drives a client: the one future that must run for anything to happen. It ends when the client is shut down or its last
/// handle is dropped; dropping it closes the client.
#[must_use = "a client without its driver does nothing"]
pub struct Driver(Engine<Machine, ClientHost>);

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx)
    }
}
