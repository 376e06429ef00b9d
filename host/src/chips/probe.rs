//! The chip at the other end of a debug probe. No test runs this code, which needs a probe; it only
//! implements [`Board`].

use crate::chips::sequence::Board;
use probe_rs::flashing::DownloadOptions;
use probe_rs::probe::list::{Accessibility, Lister, ProbeListItem};
use probe_rs::probe::{DebugProbeSelector, Probe};
use probe_rs::{MemoryInterface, Permissions, Session, Target};
use std::error::Error;

/// How to find and drive the probe.
#[derive(clap::Args)]
pub struct Connection {
    /// Debug probe, if several are connected
    #[arg(long, value_name = "VID:PID[:SERIAL]", value_parser = selector)]
    probe: Option<DebugProbeSelector>,

    /// Speed of the connection to the chip
    #[arg(long, value_name = "KHZ", value_parser = clap::value_parser!(u32).range(1..))]
    speed: Option<u32>,
}

fn selector(text: &str) -> Result<DebugProbeSelector, String> {
    text.parse().map_err(|_| "not a probe; write it like 0483:374b or 0483:374b:SERIAL".to_owned())
}

/// A connected chip.
pub struct Connected {
    session: Session,
    keep: bool,
}

impl Connection {
    /// Connects to a chip. With `keep`, the unprogrammed contents of a page are programmed again.
    ///
    /// # Errors
    /// No probe is connected, or several are; the probe cannot be opened; no chip answers.
    pub fn open(&self, target: &Target, keep: bool) -> Result<Connected, String> {
        let mut probe = self.found()?;
        if let Some(speed) = self.speed {
            probe.set_speed(speed).map_err(|error| sentence(&error))?;
        }
        let session = probe.attach(target.clone(), Permissions::default());
        let session =
            session.map_err(|error| format!("{} does not answer: {}", target.name, sentence(&error)))?;
        Ok(Connected { session, keep })
    }

    fn found(&self) -> Result<Probe, String> {
        let found = Lister::new().list_with_access(self.probe.as_ref());
        match found.as_slice() {
            [] => Err(self.none()),
            [ProbeListItem { accessibility: Accessibility::PermissionDenied, info }] => Err(format!(
                "no permission to open the probe {info}; install the udev rules of \
                 https://probe.rs/docs/getting-started/probe-setup"
            )),
            [only] => only.info.open().map_err(|error| format!("{}: {}", only.info, sentence(&error))),
            several => {
                let names: Vec<String> = several.iter().map(|item| item.info.to_string()).collect();
                Err(format!("several probes connected; use --probe to choose: {}", names.join(", ")))
            }
        }
    }

    fn none(&self) -> String {
        let none = match &self.probe {
            Some(selector) => format!("no probe {selector}"),
            None => "no debug probe found".to_owned(),
        };
        format!(
            "{none}; connect a CMSIS-DAP, ST-Link, J-Link or other USB probe that probe-rs supports, or use \
             --output to write the image for another tool; on Linux, install the udev rules of \
             https://probe.rs/docs/getting-started/probe-setup"
        )
    }
}

impl Board for Connected {
    fn program(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        let mut loader = self.session.target().flash_loader();
        loader.add_data(address, bytes).map_err(|error| sentence(&error))?;
        let mut options = DownloadOptions::default();
        options.keep_unwritten_bytes = self.keep;
        loader.commit(&mut self.session, options).map_err(|error| sentence(&error))
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), String> {
        let mut core = self.session.core(0).map_err(|error| sentence(&error))?;
        core.read(address, into).map_err(|error| sentence(&error))
    }

    fn restart(&mut self) -> Result<(), String> {
        let mut core = self.session.core(0).map_err(|error| sentence(&error))?;
        core.reset().map_err(|error| sentence(&error))
    }
}

/// An error and its causes on one line.
fn sentence(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let texts = causes.map(|cause| cause.to_string().trim_end_matches('.').replace('\n', " "));
    texts.collect::<Vec<_>>().join(": ")
}
