//! `cargo xtask ship-model`: a checkpoint as the project ships it, weights in f16.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use half::f16;
use model_gen::cli::write_whole;
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

/// What is copied as it is, byte for byte.
const COPIED: &[&str] =
    &["config.json", "generation_config.json", "tokenizer_config.json", "vocab.json", "source.spm", "target.spm"];
/// What is converted.
const WEIGHTS: &str = "model.safetensors";

/// Arguments of `ship-model`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The trained checkpoint, a Hugging Face MarianMT directory.
    #[arg(long, value_name = "DIR")]
    checkpoint: PathBuf,
    /// The folder to write, made if it is missing.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Copies the checkpoint with its weights rounded to f16.
pub fn run(args: &Args) -> Result<()> {
    let read = |name: &str| {
        let path = args.checkpoint.join(name);
        fs::read(&path).with_context(|| format!("cannot read `{}`; copy the whole checkpoint", path.display()))
    };
    // Everything is read and converted before anything is written.
    let weights = read(WEIGHTS)?;
    let halved = halve(&weights).with_context(|| format!("`{}`", args.checkpoint.join(WEIGHTS).display()))?;
    let mut files = vec![(WEIGHTS, halved)];
    for &name in COPIED {
        files.push((name, read(name)?));
    }
    fs::create_dir_all(&args.out).with_context(|| format!("cannot make `{}`", args.out.display()))?;
    files.iter().try_for_each(|(name, bytes)| write(&args.out, name, bytes))
}

fn write(dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    write_whole(&dir.join(name), bytes)?;
    println!("{name}: {} bytes", bytes.len());
    Ok(())
}

/// A safetensors file with every f32 tensor rounded to f16, to nearest, ties to even.
fn halve(file: &[u8]) -> Result<Vec<u8>> {
    let tensors = SafeTensors::deserialize(file).context("is no safetensors file")?;
    let mut halved = Vec::new();
    for (name, view) in tensors.tensors() {
        let bytes = match view.dtype() {
            Dtype::F16 => view.data().to_vec(),
            Dtype::F32 => halves(view.data()).with_context(|| format!("tensor {name}"))?,
            other => bail!("tensor {name} is {other:?}; wanted F32 or F16"),
        };
        halved.push((name, view.shape().to_vec(), bytes));
    }
    let views = halved
        .iter()
        .map(|(name, shape, bytes)| Ok((name.as_str(), TensorView::new(Dtype::F16, shape.clone(), bytes)?)))
        .collect::<Result<Vec<_>>>()?;
    // What PyTorch's loaders ask for.
    let metadata = [("format".to_owned(), "pt".to_owned())].into();
    Ok(serialize(views, Some(metadata))?)
}

fn halves(data: &[u8]) -> Result<Vec<u8>> {
    let (words, rest) = data.as_chunks::<4>();
    ensure!(rest.is_empty(), "{} bytes are no whole number of f32", data.len());
    let mut bytes = Vec::with_capacity(words.len() * 2);
    for word in words {
        let value = f32::from_le_bytes(*word);
        let half = f16::from_f32(value);
        ensure!(half.is_finite(), "{value} is not finite in f16, whose largest value is 65504");
        bytes.extend(half.to_le_bytes());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(values: &[f32]) -> Vec<u8> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let view = TensorView::new(Dtype::F32, vec![1, values.len()], &bytes).unwrap();
        serialize([("w", view)], None).unwrap()
    }

    #[test]
    fn rounds_to_nearest_even() {
        // Halfway between 1 and the next f16 (1 + 2^-10), and halfway between that and the one after.
        let halved = halve(&file(&[1.0 + 2f32.powi(-11), 1.0 + 3.0 * 2f32.powi(-11), -0.5])).unwrap();
        let tensors = SafeTensors::deserialize(&halved).unwrap();
        let view = tensors.tensor("w").unwrap();
        assert_eq!((view.dtype(), view.shape()), (Dtype::F16, &[1, 3][..]));
        let values: Vec<f32> =
            view.data().as_chunks::<2>().0.iter().map(|&half| f16::from_le_bytes(half).to_f32()).collect();
        assert_eq!(values, [1.0, 1.0 + 2f32.powi(-9), -0.5]);
        assert_eq!(halve(&halved).unwrap(), halved, "a second pass changes nothing");
    }

    #[test]
    fn refuses_what_f16_cannot_hold() {
        for value in [65520.0, -1e9, f32::INFINITY, f32::NAN] {
            let error = format!("{:#}", halve(&file(&[0.0, value])).unwrap_err());
            assert!(error.starts_with("tensor w") && error.contains("65504"), "{error}");
        }
        assert!(halve(&file(&[65519.0])).is_ok(), "rounds down to 65504");
        assert!(format!("{:#}", halve(b"x").unwrap_err()).contains("no safetensors file"));
    }
}
