//! The console on USB: a serial port that every computer knows (CDC-ACM).

use hal::usb::UsbBus;
use rp235x_hal as hal;
use static_cell::StaticCell;
use usb_device::bus::UsbBusAllocator;
use usb_device::device::{StringDescriptors, UsbDevice, UsbDeviceBuilder, UsbVidPid};
use usbd_serial::{SerialPort, USB_CLASS_CDC};

/// Identifiers that are free for serial ports on CDC-ACM to share, by leave of V-USB's makers.
const IDENTIFIERS: UsbVidPid = UsbVidPid(0x16c0, 0x27dd);

/// The device and its serial port. [`Usb::poll`] must be called every few milliseconds.
pub struct Usb {
    device: UsbDevice<'static, UsbBus>,
    port: SerialPort<'static, UsbBus>,
}

impl Usb {
    /// Turns it on. Call it once.
    pub fn new(bus: UsbBus) -> Self {
        static BUS: StaticCell<UsbBusAllocator<UsbBus>> = StaticCell::new();
        let bus = BUS.init(UsbBusAllocator::new(bus));
        let port = SerialPort::new(bus);
        let names = StringDescriptors::default().manufacturer("latimer").product("latimer on Pico 2");
        let builder = UsbDeviceBuilder::new(bus, IDENTIFIERS).device_class(USB_CLASS_CDC);
        let builder = builder.strings(&[names]).expect("one language is a valid number of them");
        let builder = builder.max_packet_size_0(64).expect("64 bytes are a valid size");
        Self { device: builder.build(), port }
    }

    /// Serves the bus.
    pub fn poll(&mut self) {
        self.device.poll(&mut [&mut self.port]);
    }

    /// Whether a terminal has opened the port.
    pub fn is_open(&self) -> bool {
        self.port.dtr()
    }

    /// A byte, if one is there.
    pub fn byte(&mut self) -> Option<u8> {
        self.poll();
        let mut byte = [0];
        matches!(self.port.read(&mut byte), Ok(1)).then_some(byte[0])
    }

    /// Writes some of the bytes and tells how many: none while there is no room.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        self.poll();
        self.port.write(bytes).unwrap_or(0)
    }

    /// Whether all is with the host.
    pub fn flush(&mut self) -> bool {
        self.poll();
        self.port.flush().is_ok()
    }
}
