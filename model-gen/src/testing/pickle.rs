//! Writes what `torch.save` writes for a state dict: the pickle, its storages and the zip archive around them.

use std::io::{self, Cursor, Write};

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// A tensor of a state dict.
#[derive(Clone, Debug)]
pub struct TorchTensor {
    /// Its key.
    pub key: String,
    /// `FloatStorage`, `HalfStorage`, ...
    pub storage: String,
    /// Sizes of the dimensions.
    pub shape: Vec<usize>,
    /// Elements from one index to the next, for each dimension.
    pub strides: Vec<usize>,
    /// Elements of the storage before the first of the tensor.
    pub offset: usize,
    /// The whole storage, little-endian.
    pub bytes: Vec<u8>,
}

/// The program that builds the state dict, protocol 2 as torch has it; storages go by their place in `tensors`.
pub fn state_dict(tensors: &[TorchTensor]) -> Vec<u8> {
    let mut out = vec![0x80, 2];
    out.extend(b"ccollections\nOrderedDict\nq\x00)Rq\x01(");
    for (i, tensor) in tensors.iter().enumerate() {
        text(&mut out, &tensor.key);
        out.extend(b"ctorch._utils\n_rebuild_tensor_v2\n((");
        text(&mut out, "storage");
        out.extend(format!("ctorch\n{}\n", tensor.storage).into_bytes());
        text(&mut out, &i.to_string());
        text(&mut out, "cpu");
        whole(&mut out, tensor.shape.iter().product());
        out.extend(b"tQ");
        whole(&mut out, tensor.offset);
        for sizes in [&tensor.shape, &tensor.strides] {
            out.push(b'(');
            sizes.iter().for_each(|&n| whole(&mut out, n));
            out.push(b't');
        }
        // Requires no gradient, and an empty dict of hooks.
        out.extend(b"\x89ccollections\nOrderedDict\n)RtR");
    }
    // The dict's attribute `_metadata`, as a module's state dict has it.
    out.extend(b"u}");
    text(&mut out, "_metadata");
    out.extend(b"h\x00)Rsb.");
    out
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b'X');
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
}

fn whole(out: &mut Vec<u8>, n: usize) {
    match n {
        0..=0xff => out.extend([b'K', n as u8]),
        0x100..=0xffff => out.extend([b'M', n as u8, (n >> 8) as u8]),
        _ => {
            out.push(b'J');
            out.extend((n as i32).to_le_bytes());
        }
    }
}

/// The archive of a program and the storages of `tensors`.
pub fn archive(program: &[u8], tensors: &[TorchTensor]) -> io::Result<Vec<u8>> {
    let storages = tensors.iter().enumerate().map(|(i, tensor)| (format!("archive/data/{i}"), tensor.bytes.clone()));
    let fixed = [("archive/data.pkl", program), ("archive/byteorder", b"little"), ("archive/version", b"3\n")];
    let fixed = fixed.map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
    zip(fixed.into_iter().chain(storages))
}

/// An archive of entries stored as they are.
pub(crate) fn zip(entries: impl IntoIterator<Item = (String, Vec<u8>)>) -> io::Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(name, SimpleFileOptions::default().compression_method(CompressionMethod::Stored))?;
        zip.write_all(&bytes)?;
    }
    Ok(zip.finish()?.into_inner())
}
