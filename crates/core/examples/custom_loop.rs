//! The client in an event loop of one's own: `mio`, one thread, no async runtime, `rocketry-core` alone.
//!
//! ```text
//! cargo run -p rocketry-core --example custom_loop -- 127.0.0.1:9876 greetings
//! ```
//!
//! It sends ten messages to the topic, receives them in a push consumer, and shuts down in order.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, IoSlice, Read, Write};
use std::net::ToSocketAddrs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Registry, Token};
use rocketry_core::codec::{Frame, Limits, Wire};
use rocketry_core::machine::{
    ConnId, Endpoint, Input, Key, LinkError, Machine, Moment, Now, Output, PeerInfo, Seed, UnixMillis,
};
use rocketry_core::{
    Answer, Ask, Client, Command, Config, Consume, ConsumerConfig, Control, Delivery, Event, Message, Outcome, Produce,
    ProducerConfig, StartAt, Ticket,
};

/// Messages to send and receive.
const MESSAGES: usize = 10;

#[allow(dead_code)] // the tests include this file and call `run`
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(name_server), Some(topic)) = (arguments.next(), arguments.next()) else {
        return Err("usage: custom_loop NAME-SERVER TOPIC".into());
    };
    let received = run(&name_server, &topic)?;
    let mut out = io::stdout().lock();
    for id in received {
        writeln!(out, "sent and received {id}")?;
    }
    Ok(())
}

/// Drives a client until the application is done. Returns the ids of the messages that were sent and received.
pub(crate) fn run(name_server: &str, topic: &str) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let clock = Clock(Instant::now());
    let id = format!("127.0.0.1@custom-loop-{}", std::process::id());
    let mut client = Client::new(Config::new(Endpoint::parse_list(name_server)?, id), seed(), clock.now())?;
    let mut app = App::new(topic);
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(64);
    let mut wires = Wires { links: HashMap::new(), registry: poll.registry().try_clone()? };
    let start = Control::StartProducer(Box::new(ProducerConfig::new("custom-loop-producer")));
    client.submit(clock.now(), Command::Control(start)).map_err(|rejected| rejected.why.to_string())?;
    loop {
        // Do what the machine wants done, in its order.
        let mut inputs = Vec::new();
        while let Some(output) = client.poll_output() {
            match output {
                Output::Open { conn, endpoint } => wires.connect(conn, &endpoint, &mut inputs),
                Output::Send { conn, frame } => wires.push(conn, &frame, &mut inputs),
                Output::Close { conn, .. } => wires.close(conn),
                Output::Event(event) => app.on_event(event)?,
            }
        }
        // What the application says may create output again, and so may what the wires have to say at once.
        let now = clock.now();
        let again = app.act(&mut client, now)? | !inputs.is_empty();
        for input in inputs {
            client.handle_input(now, input);
        }
        if again {
            continue;
        }
        if app.stopped {
            return Ok(app.received);
        }
        let wait = client.poll_timeout().map(|deadline| clock.until(deadline.at));
        if let Err(error) = poll.poll(&mut events, wait)
            && error.kind() != io::ErrorKind::Interrupted
        {
            return Err(error.into());
        }
        let now = clock.now();
        for event in &events {
            wires.service(event.token(), |input| client.handle_input(now, input));
        }
        client.handle_timeout(now);
    }
}

/// What the machine is told about time: a monotone clock for waiting, the wall clock for the wire.
struct Clock(Instant);

impl Clock {
    fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = i64::try_from(wall.as_millis()).unwrap_or(i64::MAX);
        Now::new(Moment::ZERO + self.0.elapsed(), UnixMillis::new(millis))
    }

    fn until(&self, at: Moment) -> Duration {
        at.since(self.now().at)
    }
}

/// Randomness of the operating system, as the standard library has it.
fn seed() -> Seed {
    let draw = || RandomState::new().build_hasher().finish();
    Seed([draw(), draw()])
}

/// The application: what it wants next, and what it has seen.
struct App {
    topic: String,
    commands: Vec<Command>,
    offered: Vec<Delivery>,
    sent: BTreeSet<String>,
    received: BTreeSet<String>,
    stopping: bool,
    stopped: bool,
}

impl App {
    fn new(topic: &str) -> Self {
        Self {
            topic: topic.to_owned(),
            commands: Vec::new(),
            offered: Vec::new(),
            sent: BTreeSet::new(),
            received: BTreeSet::new(),
            stopping: false,
            stopped: false,
        }
    }

    fn on_event(&mut self, event: Event) -> Result<(), Box<dyn Error>> {
        match event {
            Event::Done { outcome, .. } => self.on_done(outcome),
            Event::Ask(Ask::Deliver(delivery)) => {
                self.offered.push(delivery);
                Ok(())
            }
            // Other questions have default answers; notices are for the curious.
            Event::Ask(_) | Event::Notice(_) => Ok(()),
        }
    }

    fn on_done(&mut self, outcome: Outcome) -> Result<(), Box<dyn Error>> {
        match outcome {
            Outcome::ProducerStarted(producer) => {
                for number in 0..MESSAGES {
                    let message = Message::new(self.topic.as_str(), format!("message {number}"))?;
                    self.commands.push(Command::Produce(Produce::new(producer, message)));
                }
            }
            Outcome::Sent(receipt) => {
                self.sent.insert(receipt.message_id);
                if self.sent.len() == MESSAGES {
                    let mut config = ConsumerConfig::new("custom-loop-consumer").subscribe(self.topic.as_str(), "*");
                    config.start_at = StartAt::First;
                    self.commands.push(Command::Consume(Consume::Start(Box::new(config))));
                }
            }
            Outcome::Stopped(_) => self.stopped = true,
            Outcome::Failed(error) => return Err(error.into()),
            _ => {}
        }
        Ok(())
    }

    /// Handles what was offered and submits what is wanted. Returns whether there was anything.
    fn act(&mut self, client: &mut Client, now: Now) -> Result<bool, Box<dyn Error>> {
        let mut acted = !self.commands.is_empty();
        for command in self.commands.drain(..) {
            client.submit(now, command).map_err(|rejected| rejected.why.to_string())?;
        }
        for delivery in self.offered.drain(..) {
            acted = true;
            let wanted = u32::try_from(delivery.offered.len()).unwrap_or(u32::MAX);
            // It fails when the queue has moved to another consumer meanwhile, and may allow fewer than wanted.
            let begun = client.begin(now, delivery.ask, wanted).unwrap_or(0) as usize;
            let mut verdicts = Vec::new();
            for (at, offered) in delivery.offered.into_iter().enumerate() {
                if at < begun {
                    self.received.extend(offered.message.stored.unique_key().map(str::to_owned));
                    verdicts.push(offered.ticket.succeed());
                } else {
                    verdicts.push(Ticket::release(offered.ticket));
                }
            }
            // Too late means that somebody else gets the messages again.
            let _ = client.answer(now, Answer::Verdicts(verdicts));
        }
        if !self.stopping && self.sent.len() == MESSAGES && self.received.is_superset(&self.sent) {
            acted = true;
            self.stopping = true;
            self.received.retain(|id| self.sent.contains(id));
            let stop = Control::Shutdown { within: Duration::from_secs(5) };
            client.submit(now, Command::Control(stop)).map_err(|rejected| rejected.why.to_string())?;
        }
        Ok(acted)
    }
}

/// The connections: a socket and a wire each.
struct Wires {
    links: HashMap<Token, Link>,
    registry: Registry,
}

struct Link {
    conn: ConnId,
    stream: TcpStream,
    wire: Wire,
    stands: bool,
    /// Our machine wants it closed once all is written.
    closing: bool,
}

fn token(conn: ConnId) -> Token {
    Token(Key::from(conn).index() as usize)
}

impl Wires {
    fn connect(&mut self, conn: ConnId, endpoint: &Endpoint, inputs: &mut Vec<Input<Frame>>) {
        match self.open(conn, endpoint) {
            Ok(link) => drop(self.links.insert(token(conn), link)),
            Err(_) => inputs.push(Input::Closed { conn, cause: LinkError::Unreachable }),
        }
    }

    fn open(&self, conn: ConnId, endpoint: &Endpoint) -> io::Result<Link> {
        // Looking a name up blocks; a program that cannot have that does it on a thread.
        let mut addresses = (endpoint.host(), endpoint.port()).to_socket_addrs()?;
        let address = addresses.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let mut stream = TcpStream::connect(address)?;
        self.registry.register(&mut stream, token(conn), Interest::READABLE | Interest::WRITABLE)?;
        Ok(Link { conn, stream, wire: Wire::new(&Limits::DEFAULT), stands: false, closing: false })
    }

    fn push(&mut self, conn: ConnId, frame: &Frame, inputs: &mut Vec<Input<Frame>>) {
        let Some(link) = self.links.get_mut(&token(conn)).filter(|link| link.conn == conn) else { return };
        if link.wire.push(frame).is_err() {
            inputs.push(Input::Closed { conn, cause: LinkError::Other });
            self.links.remove(&token(conn));
        } else if link.stands {
            // The kernel usually takes it at once; if not, the poller says when.
            self.service(token(conn), |input| inputs.push(input));
        }
    }

    fn close(&mut self, conn: ConnId) {
        if let Some(link) = self.links.get_mut(&token(conn)).filter(|link| link.conn == conn) {
            link.closing = true;
        }
        self.service(token(conn), |_| {});
    }

    /// Does what a connection can do now: stand, write, read.
    fn service(&mut self, token: Token, mut feed: impl FnMut(Input<Frame>)) {
        let Some(link) = self.links.get_mut(&token) else { return };
        let ended = link.service(&mut feed);
        let closing = link.closing;
        match ended {
            Ok(()) if !closing || (link.stands && link.wire.queued() > 0) => return,
            Err(cause) if !closing => feed(Input::Closed { conn: link.conn, cause }),
            Ok(()) | Err(_) => {}
        }
        self.links.remove(&token);
    }
}

impl Link {
    fn service(&mut self, feed: &mut impl FnMut(Input<Frame>)) -> Result<(), LinkError> {
        if !self.stands {
            match (self.stream.take_error(), self.stream.peer_addr()) {
                (Ok(None), Ok(peer)) => {
                    self.stands = true;
                    let local = self.stream.local_addr().ok();
                    feed(Input::Opened { conn: self.conn, peer: PeerInfo::new(Some(peer), local) });
                }
                (Ok(None), Err(_)) => return Ok(()),
                (Ok(Some(error)) | Err(error), _) => return Err(cause(&error)),
            }
        }
        self.write(feed)?;
        if self.closing { Ok(()) } else { self.read(feed) }
    }

    fn write(&mut self, feed: &mut impl FnMut(Input<Frame>)) -> Result<(), LinkError> {
        while self.wire.queued() > 0 {
            let segments: Vec<_> = self.wire.segments().take(64).map(IoSlice::new).collect();
            match self.stream.write_vectored(&segments) {
                Ok(count) => {
                    let frames = self.wire.advance(count);
                    if frames > 0 && !self.closing {
                        feed(Input::Flushed { conn: self.conn, frames });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(cause(&error)),
            }
        }
        Ok(())
    }

    fn read(&mut self, feed: &mut impl FnMut(Input<Frame>)) -> Result<(), LinkError> {
        loop {
            match self.stream.read(self.wire.space()) {
                Ok(0) => return Err(LinkError::Eof),
                Ok(count) => self.wire.filled(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(cause(&error)),
            }
            loop {
                match self.wire.next_frame() {
                    Ok(Some(frame)) => feed(Input::Frame { conn: self.conn, frame }),
                    Ok(None) => break,
                    Err(_) => return Err(LinkError::Malformed("not a frame")),
                }
            }
        }
    }
}

fn cause(error: &io::Error) -> LinkError {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => LinkError::Refused,
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => LinkError::Reset,
        _ => LinkError::Other,
    }
}
