//! The logo of who hands a document out.

use std::io::{Cursor, ErrorKind};
use std::path::Path;

use png::{BitDepth, ColorType, Decoder, Limits, Transformations};
use quick_xml::events::Event;

use crate::bounded_file;
use crate::error::{Error, Result};

/// A larger file is refused.
pub const LOGO_BYTES_MAX: u64 = 256 * 1024;
/// A picture with a longer side is refused: it is held without compression while a PDF is made.
const SIDE_MAX: u32 = 2_000;
const PNG_START: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A picture that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logo {
    pub(super) kind: LogoKind,
    pub(super) bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogoKind {
    Png,
    /// Only shown by HTML, as a picture: what is in it does not run.
    Svg,
}

impl LogoKind {
    pub(super) const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Svg => "image/svg+xml",
        }
    }
}

/// The points of a picture.
pub(super) struct Pixels {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Red, green and blue of each.
    pub(super) colors: Vec<u8>,
    /// How opaque each is.
    pub(super) opacity: Vec<u8>,
}

impl Logo {
    /// Reads and checks the file that the configuration names.
    ///
    /// # Errors
    /// `Invalid` with the rule that it breaks.
    pub fn open(path: &Path) -> Result<Self> {
        let wrong = |what: &str| Error::invalid(format!("msp.logo: {} {what}", path.display()));
        let bytes = bounded_file::read(path, LOGO_BYTES_MAX).map_err(|error| {
            if error.kind() == ErrorKind::FileTooLarge {
                wrong(&format!("must be at most {} KiB", LOGO_BYTES_MAX / 1024))
            } else {
                wrong(&format!("cannot be read: {error}"))
            }
        })?;
        Self::read(bytes).map_err(|rule| wrong(&rule))
    }

    /// Checks a file.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn read(bytes: Vec<u8>) -> std::result::Result<Self, String> {
        if LOGO_BYTES_MAX < bytes.len() as u64 {
            return Err(format!("must be at most {} KiB", LOGO_BYTES_MAX / 1024));
        }
        if bytes.starts_with(PNG_START) {
            pixels(&bytes)?;
            return Ok(Self { kind: LogoKind::Png, bytes });
        }
        if is_svg(&bytes) {
            return Ok(Self { kind: LogoKind::Svg, bytes });
        }
        Err("must be a PNG or an SVG file".to_owned())
    }

    #[must_use]
    pub const fn media_type(&self) -> &'static str {
        self.kind.media_type()
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// `None`: it is not made of points.
    pub(super) fn pixels(&self) -> Option<Pixels> {
        match self.kind {
            LogoKind::Png => pixels(&self.bytes).ok(),
            LogoKind::Svg => None,
        }
    }
}

fn pixels(bytes: &[u8]) -> std::result::Result<Pixels, String> {
    let wrong = |error: png::DecodingError| format!("is not a valid PNG file: {error}");
    let limits = Limits { bytes: (SIDE_MAX * SIDE_MAX * 4) as usize };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(Transformations::normalize_to_color8());
    let (width, height) = decoder.read_header_info().map_err(wrong)?.size();
    if SIDE_MAX < width.max(height) {
        let rule = format!("must be at most {SIDE_MAX} x {SIDE_MAX} pixels");
        return Err(format!("{rule}, not {width} x {height}"));
    }
    let mut reader = decoder.read_info().map_err(wrong)?;
    let n_bytes = reader.output_buffer_size().ok_or("is too large")?;
    let mut samples = vec![0; n_bytes];
    let frame = reader.next_frame(&mut samples).map_err(wrong)?;
    samples.truncate(frame.buffer_size());
    if frame.bit_depth != BitDepth::Eight {
        return Err("has more than 8 bits for a color".to_owned());
    }
    let (n_colors, has_opacity) = match frame.color_type {
        ColorType::Grayscale => (1, false),
        ColorType::GrayscaleAlpha => (1, true),
        ColorType::Rgb | ColorType::Indexed => (3, false),
        ColorType::Rgba => (3, true),
    };
    let (mut colors, mut opacity) = (Vec::new(), Vec::new());
    for pixel in samples.chunks_exact(n_colors + usize::from(has_opacity)) {
        match pixel[..n_colors] {
            [gray] => colors.extend([gray; 3]),
            ref all => colors.extend(all),
        }
        opacity.push(if has_opacity { pixel[n_colors] } else { u8::MAX });
    }
    Ok(Pixels { width, height, colors, opacity })
}

/// Returns true if the first element is `svg`.
fn is_svg(bytes: &[u8]) -> bool {
    let mut reader = quick_xml::Reader::from_reader(bytes);
    loop {
        match reader.read_event() {
            Ok(Event::Start(it) | Event::Empty(it)) => return it.local_name().as_ref() == "svg",
            Ok(Event::Eof) | Err(_) => return false,
            Ok(_) => (),
        }
    }
}
