//! The firmware of `cargo xtask bench`: a line names a piece of the engine and its sizes, the piece runs between two
//! marker instructions, and the answer is a checksum of what came out.

use core::fmt::Write as _;
use core::str::SplitAsciiWhitespace;

use heapless::String;
use latimer::bench::{self, Lookup, Marks, PORTABLE, Part, Shape};
use latimer::blob::CRC32;
use latimer::{Error, Model, Translator};

use crate::{LIMITS, Line, LineReader, Port};

/// Room for the largest matrix measured (512 x 128) and eight vectors.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Memory<const N: usize = { 96 * 1024 }>(pub [u8; N]);

impl<const N: usize> Memory<N> {
    /// Zeros.
    #[allow(clippy::new_without_default, reason = "made in statics only")]
    pub const fn new() -> Self {
        Self([0; N])
    }
}

/// Instructions that do nothing on any of the boards, and that nothing else uses.
struct Hints;

impl Marks for Hints {
    #[inline(always)]
    fn start() {
        #[cfg(target_arch = "arm")]
        // SAFETY: a hint of the space that executes as no operation.
        unsafe {
            core::arch::asm!(".short 0xbfa0")
        }
        #[cfg(target_arch = "riscv32")]
        // SAFETY: the result goes to register zero.
        unsafe {
            core::arch::asm!("slti x0, x0, 0x5a1")
        }
    }

    #[inline(always)]
    fn stop() {
        #[cfg(target_arch = "arm")]
        // SAFETY: a hint of the space that executes as no operation.
        unsafe {
            core::arch::asm!(".short 0xbfb0")
        }
        #[cfg(target_arch = "riscv32")]
        // SAFETY: the result goes to register zero.
        unsafe {
            core::arch::asm!("slti x0, x0, 0x5a2")
        }
    }
}

/// What a line asked for that can't be.
enum Refusal {
    /// The words are not those of a command.
    Unknown,
    /// The memory of this board does not hold it.
    NoRoom,
    /// This firmware has no model.
    NoModel,
    /// The steps of a translation gave other ids than the translation.
    OtherSteps,
    /// The translation failed.
    Engine(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Engine(error)
    }
}

/// A model with its translator, in firmware that has one.
type Loaded<'t, 'm> = Option<(Model<'m>, &'t mut Translator<'m>)>;

/// Answers lines until `:exit` or the end of input; false if the blob can't be run. Without a blob kernels and operators
/// alone can be asked for, in as much memory as there is, aligned to 16 bytes.
pub fn session<P: Port>(
    port: &mut P,
    blob_and_arena: Option<(&[u8], &mut [u8])>,
    memory: &mut [u8],
) -> Result<bool, P::Error> {
    match blob_and_arena {
        None => serve(port, None, memory).map(|()| true),
        Some((blob, arena)) => {
            let loaded = Model::from_bytes(blob).and_then(|model| Ok((model, model.translator(arena, LIMITS)?)));
            match loaded {
                Ok((model, mut translator)) => {
                    // Whole matrices are what is compared.
                    let _ = translator.set_shortlist(false);
                    serve(port, Some((model, &mut translator)), memory).map(|()| true)
                }
                Err(error) => say(port, format_args!("error: {error}")).map(|()| false),
            }
        }
    }
}

fn serve<P: Port>(port: &mut P, mut loaded: Loaded<'_, '_>, memory: &mut [u8]) -> Result<(), P::Error> {
    let kernels = if PORTABLE { "portable kernels" } else { "the kernels of its target" };
    say(port, format_args!("latimer bench on {} with {kernels}", P::NAME))?;
    let mut line = LineReader::new();
    let mut translated = String::new();
    loop {
        let mut byte = [0];
        if port.read(&mut byte)? == 0 {
            return Ok(());
        }
        if !line.push(byte[0]) {
            continue;
        }
        let Line::Text(text) = line.line() else {
            say(port, format_args!("error: not a line of text"))?;
            continue;
        };
        if text == ":exit" {
            return say(port, format_args!("bye"));
        }
        let mut out = String::<1024>::new();
        match answer(text, &mut loaded, memory, &mut translated, &mut out) {
            Ok(crc) => say(port, format_args!("{crc:08x} {out}"))?,
            Err(Refusal::Unknown) => say(port, format_args!("error: unknown command"))?,
            Err(Refusal::NoRoom) => say(port, format_args!("no room"))?,
            Err(Refusal::NoModel) => say(port, format_args!("no model"))?,
            Err(Refusal::OtherSteps) => {
                say(port, format_args!("error: the steps give other ids than the translation"))?
            }
            Err(Refusal::Engine(error)) => say(port, format_args!("error: {error}"))?,
        }
    }
}

fn say<P: Port>(port: &mut P, words: core::fmt::Arguments<'_>) -> Result<(), P::Error> {
    // Formatting fails only where the port does, and the flush below tells that.
    let _ = write!(port, "{words}\r\n");
    port.flush()
}

fn answer(
    line: &str,
    loaded: &mut Loaded<'_, '_>,
    memory: &mut [u8],
    translated: &mut String<1024>,
    out: &mut String<1024>,
) -> Result<u32, Refusal> {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let mut words = rest.split_ascii_whitespace();
    let result = match name {
        "multiply" => bench::multiply::<Hints>(memory, &shape(&mut words)?),
        "linear" => bench::linear::<Hints>(memory, &shape(&mut words)?),
        "attend" => {
            let part = match words.next() {
                Some("scores") => Part::Scores,
                Some("softmax") => Part::Softmax,
                Some("context") => Part::Context,
                Some("whole") => Part::Whole,
                _ => return Err(Refusal::Unknown),
            };
            let [positions, head_dim, heads, tokens] = numbers(&mut words)?;
            bench::attend::<Hints>(memory, &Lookup { positions, head_dim, heads, tokens }, part)
        }
        "norm" => {
            let [len] = numbers(&mut words)?;
            bench::add_norm::<Hints>(memory, len)
        }
        "embed" => {
            let [len] = numbers(&mut words)?;
            bench::embed::<Hints>(memory, len)
        }
        "quantize" => {
            let [len, bits, wide] = numbers(&mut words)?;
            bench::quantize::<Hints>(memory, len, bits as u8, wide != 0)
        }
        "store" => {
            let [len, heads] = numbers(&mut words)?;
            bench::store::<Hints>(memory, len, heads)
        }
        _ => {
            let (model, translator) = loaded.as_mut().ok_or(Refusal::NoModel)?;
            match name {
                "argmax" => bench::argmax::<Hints>(memory, model),
                _ => Some(phrase(name, rest, model, translator, translated, out)?),
            }
        }
    };
    result.ok_or(Refusal::NoRoom)
}

fn numbers<const N: usize>(words: &mut SplitAsciiWhitespace<'_>) -> Result<[usize; N], Refusal> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = words.next().and_then(|word| word.parse().ok()).ok_or(Refusal::Unknown)?;
    }
    Ok(numbers)
}

fn shape(words: &mut SplitAsciiWhitespace<'_>) -> Result<Shape, Refusal> {
    let [cols, rows, tokens, bits, weight_bits, group] = numbers(words)?;
    Ok(Shape { cols, rows, tokens, bits: bits as u8, weight_bits: weight_bits as u8, group })
}

/// A phrase, or a part of its way, for which it is translated first unless that is the phrase translated last: `out` has
/// its tokens and its translation, the checksum is that of its target ids.
fn phrase(
    part: &str,
    text: &str,
    model: &Model<'_>,
    translator: &mut Translator<'_>,
    translated: &mut String<1024>,
    out: &mut String<1024>,
) -> Result<u32, Refusal> {
    let mut target = String::<1024>::new();
    if part != "translate" && *translated != text {
        translator.translate_phrase(text.as_bytes(), &mut (), &mut target)?;
        target.clear();
    }
    translated.clear();
    match part {
        "translate" => {
            Hints::start();
            let result = translator.translate_phrase(text.as_bytes(), &mut (), &mut target);
            Hints::stop();
            result?;
        }
        "tokenize" => {
            Hints::start();
            let result = translator.tokenize(text.as_bytes()).map(drop);
            Hints::stop();
            result?;
        }
        "encode" => {
            translator.tokenize(text.as_bytes())?;
            Hints::start();
            let result = translator.encode(&mut ());
            Hints::stop();
            result?;
        }
        // The last step of the translation once more.
        "step" => {
            let (&last, before) = translator.target_ids().split_last().ok_or(Refusal::Unknown)?;
            let ids = heapless::Vec::<u16, 64>::from_slice(before).unwrap_or_default();
            translator.tokenize(text.as_bytes())?;
            translator.encode(&mut ())?;
            let mut next = translator.step(model.start_id(), &mut ())?;
            let Some((&id, ids)) = ids.split_last() else { return Err(Refusal::Unknown) };
            for &id in ids {
                next = translator.step(id, &mut ())?;
            }
            Hints::start();
            let result = translator.step(id, &mut ());
            Hints::stop();
            if (next, result?) != (id, last) {
                return Err(Refusal::OtherSteps);
            }
        }
        "detokenize" => {
            let (ids, eos) = (translator.target_ids(), model.eos_id());
            Hints::start();
            let mut detokenizer = model.blob().tokenizer().detokenizer();
            let result = ids.iter().filter(|&&id| id != eos).try_for_each(|&id| detokenizer.push(id, &mut target));
            let result = result.and_then(|()| detokenizer.finish(&mut target));
            Hints::stop();
            result?;
        }
        _ => return Err(Refusal::Unknown),
    }
    // No line is too long for it.
    let _ = translated.push_str(text);
    let (source, ids) = (translator.source_ids(), translator.target_ids());
    // Fits: both hold what a translation may be.
    let _ = write!(out, "{} {} {target}", source.len(), ids.len());
    let crc = CRC32.digest();
    let crc = ids.iter().fold(crc, |mut crc, id| {
        crc.update(&id.to_le_bytes());
        crc
    });
    Ok(crc.finalize())
}
