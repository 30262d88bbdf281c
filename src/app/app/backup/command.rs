//! The command of the operator that runs after a backup, for example to take it off the machine.

use std::io::{self, PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::blocking::{self, Cancellation};
use crate::error::{Error, Result};
use crate::text::visible;

/// A command that takes longer is ended, with everything it started.
const TIMEOUT: Duration = Duration::from_hours(1);
/// The end of what the command prints that is logged if it fails.
const OUTPUT_BYTES_MAX: usize = 4 * 1024;
/// How often the end of the command is looked for.
const POLL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const CLOSED_POLL: Duration = Duration::from_millis(100);
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// So often output is taken before the end of the command is looked for again.
const N_READS_MAX: usize = 64;
/// Stands for the path of the backup.
const FILE: &str = "{file}";

/// Runs the command with the backup's path in the place of `{file}`, and waits for its end. `held` is dropped after that, even
/// if the caller is dropped before.
///
/// # Errors
/// `Unavailable` if it cannot be started, fails or takes too long, or if the service stops.
pub(super) async fn run<H: Send + 'static>(
    words: &[String],
    file: &Path,
    held: H,
    cancellation: Cancellation,
) -> Result<()> {
    let path = file.to_string_lossy().into_owned();
    let words: Vec<String> = words.iter().map(|it| it.replace(FILE, &path)).collect();
    blocking::run_cancelable(held, cancellation, move |it| run_now(&words, it)).await
}

fn run_now(words: &[String], cancellation: &Cancellation) -> Result<()> {
    let unusable = |error: io::Error| {
        Error::unavailable(format!("`{}` cannot be started: {error}", visible(&words[0])))
    };
    let (mut output, printing) = io::pipe().map_err(unusable)?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).process_group(0);
    command.stdout(printing.try_clone().map_err(unusable)?).stderr(printing);
    let mut child = command.spawn().map_err(unusable)?;
    drop(command); // It holds the other end of the pipe.
    let mut last = Vec::new();
    let ended = wait(&mut child, &mut output, &mut last, cancellation);
    let ended = ended.inspect_err(|_| kill(&mut child))?;
    if ended.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&last);
    let said = said.trim().lines().last().unwrap_or_default();
    tracing::warn!(output = %visible(&String::from_utf8_lossy(&last)), "backup.after_command failed ({ended})");
    let said = if said.is_empty() {
        "; it said nothing".to_owned()
    } else {
        format!("; it said: {}", visible(said))
    };
    Err(Error::unavailable(format!("{ended}{said}")))
}

/// Takes what the command prints until it ends.
fn wait(
    child: &mut Child,
    output: &mut PipeReader,
    last: &mut Vec<u8>,
    cancellation: &Cancellation,
) -> Result<ExitStatus> {
    let until = Instant::now() + TIMEOUT;
    let mut is_open = true;
    loop {
        let ended = child.try_wait().map_err(Error::internal)?;
        if ended.is_none() {
            cancellation.check()?;
            if until < Instant::now() {
                let s = TIMEOUT.as_secs();
                return Err(Error::unavailable(format!("it took longer than {s} s and was ended")));
            }
        }
        // What it started may still print when it has ended: that is not waited for.
        let patience = if ended.is_some() { AT_ONCE } else { POLL };
        let mut n_reads = 0;
        while is_open && n_reads < N_READS_MAX && has_output(output, &patience)? {
            is_open = take(output, last).map_err(Error::internal)?;
            n_reads += 1;
        }
        if let Some(status) = ended {
            return Ok(status);
        }
        if !is_open {
            std::thread::sleep(CLOSED_POLL);
        }
    }
}

fn has_output(output: &PipeReader, patience: &Timespec) -> Result<bool> {
    let mut polled = [PollFd::new(output, PollFlags::IN)];
    match poll(&mut polled, Some(patience)) {
        Ok(n_ready) => Ok(n_ready != 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(Error::internal(io::Error::from(error))),
    }
}

/// Keeps the end of what was printed. Returns false once there is no more.
fn take(output: &mut PipeReader, last: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; OUTPUT_BYTES_MAX];
    let n_bytes = output.read(&mut buffer)?;
    last.extend_from_slice(&buffer[..n_bytes]);
    let n_over = last.len().saturating_sub(OUTPUT_BYTES_MAX);
    last.drain(..n_over);
    Ok(n_bytes != 0)
}

/// Ends the command and everything it started.
fn kill(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // Fails if all of them ended by themselves.
        let _ = kill_process_group(group, Signal::KILL);
    }
    drop(child.wait());
}
