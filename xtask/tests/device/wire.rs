//! A firmware on the host at the other end of a TCP port or of a pseudo-terminal.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use app::{Buffers, Models, Port, StackUse, session};
use model_gen::aligned::AlignedBytes;

/// The firmware's end.
pub trait Line: Send + 'static {
    /// Waits for a byte, however often the other side comes and goes.
    fn byte(&mut self) -> u8;
    /// Sends what it can; a UART doesn't know whether anybody listens.
    fn put(&mut self, bytes: &[u8]);
}

/// One connection after the other.
struct Tcp {
    listener: TcpListener,
    stream: Option<TcpStream>,
}

impl Line for Tcp {
    fn byte(&mut self) -> u8 {
        loop {
            let stream = self.stream.get_or_insert_with(|| self.listener.accept().unwrap().0);
            let mut byte = [0];
            match stream.read(&mut byte) {
                Ok(1) => return byte[0],
                _ => self.stream = None,
            }
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        if let Some(stream) = &mut self.stream {
            let _ = stream.write_all(bytes);
        }
    }
}

#[cfg(unix)]
impl Line for serialport::TTYPort {
    fn byte(&mut self) -> u8 {
        loop {
            let mut byte = [0];
            match self.read(&mut byte) {
                Ok(1) => return byte[0],
                Err(error) if error.kind() == ErrorKind::TimedOut => {}
                // Nobody has the other end open.
                _ => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        let _ = self.write_all(bytes);
    }
}

/// A board on a line.
struct Board<L>(L);

impl<L> embedded_io::ErrorType for Board<L> {
    type Error = std::convert::Infallible;
}

impl<L: Line> embedded_io::Read for Board<L> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        buffer[0] = self.0.byte();
        Ok(1)
    }
}

impl<L: Line> embedded_io::Write for Board<L> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        self.0.put(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

impl<L: Line> Port for Board<L> {
    const NAME: &'static str = "mock";

    fn count(&mut self) -> u64 {
        0
    }

    fn stack(&self) -> StackUse {
        StackUse { size: 4096, high_water: 1024 }
    }

    fn exit(code: u8) -> ! {
        panic!("the session ended the program with {code}")
    }
}

/// Runs the firmware with these models until `:exit`.
fn serve(line: impl Line, blobs: Vec<Vec<u8>>) {
    thread::spawn(move || {
        let blobs: Vec<AlignedBytes> = blobs.iter().map(|blob| AlignedBytes::copy_of(blob)).collect();
        let blobs: Vec<&[u8]> = blobs.iter().map(|blob| &**blob).collect();
        let (mut arena, mut buffers) = (AlignedBytes::zeroed(1 << 20), Box::new(Buffers::new()));
        let Ok(_) = session(&mut Board(line), Models::Linked(&blobs), &mut arena, &mut buffers);
    });
}

/// A firmware that listens; returns the port to give `--port`.
pub fn on_tcp(blobs: Vec<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("tcp:{}", listener.local_addr().unwrap());
    serve(Tcp { listener, stream: None }, blobs);
    port
}

/// A firmware on a pseudo-terminal; returns its other end's path.
#[cfg(unix)]
pub fn on_serial(blobs: Vec<Vec<u8>>) -> io::Result<String> {
    use serialport::{SerialPort, TTYPort};
    let (firmware, other) = TTYPort::pair()?;
    let path = other.name().ok_or(ErrorKind::NotFound)?;
    serve(firmware, blobs);
    Ok(path)
}
