//! UART0, for all output, including that of the panic handler.

use core::cell::RefCell;
use core::fmt;
use critical_section::Mutex;
use rp2040_hal::clocks::init_clocks_and_plls;
use rp2040_hal::fugit::RateExtU32;
use rp2040_hal::gpio::bank0::{Gpio0, Gpio1};
use rp2040_hal::gpio::{FunctionUart, Pin, Pins, PullDown};
use rp2040_hal::pac::{Peripherals, UART0};
use rp2040_hal::uart::{DataBits, Enabled, StopBits, UartConfig, UartPeripheral};
use rp2040_hal::{Clock, Sio, Watchdog};

/// The crystal of a Pico.
const CRYSTAL_HZ: u32 = 12_000_000;

const BAUD: u32 = 115_200;

type UartPin<P> = Pin<P, FunctionUart, PullDown>;
type Uart = UartPeripheral<Enabled, UART0, (UartPin<Gpio0>, UartPin<Gpio1>)>;

static UART: Mutex<RefCell<Option<Uart>>> = Mutex::new(RefCell::new(None));

/// Prints to the UART; nothing before it is started.
pub struct Console;

impl Console {
    /// Sets up clocks and pins; `None` if that fails.
    pub fn start(peripherals: Peripherals) -> Option<Self> {
        let uart = open(peripherals)?;
        critical_section::with(|section| UART.borrow_ref_mut(section).replace(uart));
        Some(Self)
    }
}

fn open(peripherals: Peripherals) -> Option<Uart> {
    let Peripherals { mut RESETS, IO_BANK0, PADS_BANK0, SIO, UART0, .. } = peripherals;
    let clocks = init_clocks_and_plls(
        CRYSTAL_HZ,
        peripherals.XOSC,
        peripherals.CLOCKS,
        peripherals.PLL_SYS,
        peripherals.PLL_USB,
        &mut RESETS,
        &mut Watchdog::new(peripherals.WATCHDOG),
    );
    let clock = clocks.ok()?.peripheral_clock.freq();
    let pins = Pins::new(IO_BANK0, PADS_BANK0, Sio::new(SIO).gpio_bank0, &mut RESETS);
    let pins = (pins.gpio0.into_function(), pins.gpio1.into_function());
    let config = UartConfig::new(BAUD.Hz(), DataBits::Eight, None, StopBits::One);
    UartPeripheral::new(UART0, pins, &mut RESETS).enable(config, clock).ok()
}

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        critical_section::with(|section| {
            let mut uart = UART.borrow(section).try_borrow_mut().map_err(|_| fmt::Error)?;
            uart.as_mut().ok_or(fmt::Error)?.write_full_blocking(text.as_bytes());
            Ok(())
        })
    }
}
