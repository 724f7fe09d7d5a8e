//! What carries bytes to a board: a serial port, or TCP.

use std::convert::Infallible;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use serialport::{SerialPort, SerialPortInfo, SerialPortType};

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);

/// Carries bytes.
pub trait Link {
    /// Sends all of `bytes` within that time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TimedOut`] where they do not go, else the system's.
    fn send(&mut self, bytes: &[u8], within: Duration) -> io::Result<()>;

    /// Waits for bytes and puts what has come to the front of `room`; 0 where the other side has closed the link.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TimedOut`] where none comes within that time, else the system's.
    fn receive(&mut self, room: &mut [u8], within: Duration) -> io::Result<usize>;
}

/// Where a board is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A serial port by its path or name.
    Serial(String),
    /// `HOST:PORT`.
    Tcp(String),
}

impl FromStr for Address {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.strip_prefix("tcp:") {
            Some(host) => Self::Tcp(host.to_owned()),
            None => Self::Serial(text.to_owned()),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial(path) => f.write_str(path),
            Self::Tcp(host) => write!(f, "tcp:{host}"),
        }
    }
}

impl Address {
    /// Opens the link; a serial port with 8 data bits, no parity, one stop bit and `baud` bits a second.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn open(&self, baud: u32) -> io::Result<Box<dyn Link>> {
        match self {
            Self::Serial(path) => {
                let mut port = serialport::new(path, baud).open()?;
                // Boards with USB of their own send to no one who is not ready; a pseudo-terminal has no such wire.
                let _ = port.write_data_terminal_ready(true);
                Ok(Box::new(Serial(port)))
            }
            Self::Tcp(host) => {
                let mut last = io::Error::new(ErrorKind::NotFound, "no such host");
                for address in host.to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, CONNECT) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            return Ok(Box::new(Tcp(stream)));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }
}

/// Serial ports, each with what is known of it.
///
/// # Errors
///
/// The system's.
pub fn ports() -> io::Result<Vec<String>> {
    // Without it the library would panic; containers may lack it.
    if cfg!(target_os = "linux") && !Path::new("/sys/class/tty").is_dir() {
        return Ok(Vec::new());
    }
    let line = |port: SerialPortInfo| match port.port_type {
        SerialPortType::UsbPort(usb) => {
            let names: Vec<String> = [usb.manufacturer, usb.product, usb.serial_number].into_iter().flatten().collect();
            format!("{}  USB {:04x}:{:04x} {}", port.port_name, usb.vid, usb.pid, names.join(" "))
        }
        _ => port.port_name,
    };
    Ok(serialport::available_ports()?.into_iter().map(line).collect())
}

struct Serial(Box<dyn SerialPort>);

impl Link for Serial {
    fn send(&mut self, bytes: &[u8], within: Duration) -> io::Result<()> {
        self.0.set_timeout(within)?;
        self.0.write_all(bytes)
    }

    fn receive(&mut self, room: &mut [u8], within: Duration) -> io::Result<usize> {
        self.0.set_timeout(within)?;
        self.0.read(room)
    }
}

struct Tcp(TcpStream);

/// No time at all would be none to wait at all.
fn some(within: Duration) -> Option<Duration> {
    Some(within.max(Duration::from_millis(1)))
}

/// Unix has another name for it.
fn timed_out(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::WouldBlock { ErrorKind::TimedOut.into() } else { error }
}

impl Link for Tcp {
    fn send(&mut self, bytes: &[u8], within: Duration) -> io::Result<()> {
        self.0.set_write_timeout(some(within))?;
        self.0.write_all(bytes).map_err(timed_out)
    }

    fn receive(&mut self, room: &mut [u8], within: Duration) -> io::Result<usize> {
        self.0.set_read_timeout(some(within))?;
        self.0.read(room).map_err(timed_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in ["/dev/ttyACM0", "COM3", "tcp:localhost:4000", "tcp:[::1]:4000"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!("tcp:a:1".parse(), Ok(Address::Tcp("a:1".into())));
    }

    #[test]
    fn what_is_not_there_is_an_error_and_a_silent_link_times_out() {
        assert!(Address::Serial("/no/such/port".into()).open(115_200).is_err());
        assert!(Address::Tcp("127.0.0.1".into()).open(0).is_err(), "no port number");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut link = Address::Tcp(listener.local_addr().unwrap().to_string()).open(0).unwrap();
        let error = link.receive(&mut [0; 8], Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
}
