//! NumPy's `.npz`: a zip archive with one `.npy` file for each array (NEP 1).

use std::collections::BTreeMap;
use std::path::Path;

use crate::import::archive::{Archive, MAGIC};
use crate::import::error::ImportError;
use crate::import::tensors::{Element, Stored};

/// Where Marian keeps a model's options.
const OPTIONS: &str = "special:model.yml";

/// The arrays by name.
pub(super) struct Npz<'a> {
    pub(super) arrays: BTreeMap<String, Stored<'a>>,
    options: Option<&'a [u8]>,
}

impl<'a> Npz<'a> {
    /// Reads the directory and every array's header.
    pub(super) fn read(path: &Path, bytes: &'a [u8]) -> Result<Self, ImportError> {
        let damaged = |reason: String, remedy: &str| ImportError::Damaged {
            path: path.to_owned(),
            reason,
            remedy: remedy.to_owned(),
        };
        if !bytes.starts_with(MAGIC) {
            return Err(damaged("not a .npz file, which is a zip archive".to_owned(), "give Marian's model.npz"));
        }
        let remedy = "copy it again, or write it with numpy's `savez`";
        let archive = Archive::read(bytes).map_err(|reason| damaged(reason, remedy))?;
        let (mut arrays, mut options) = (BTreeMap::new(), None);
        for (name, entry) in archive.iter() {
            let name = name.strip_suffix(".npy").unwrap_or(name);
            let (header, data) =
                Header::read(entry).ok_or_else(|| damaged(format!("{name}: not an array of numpy's"), remedy))?;
            if name == OPTIONS {
                options = Some(data);
                continue;
            }
            let array =
                header.array(data).ok_or_else(|| damaged(format!("{name}: ends before its values do"), remedy))?;
            arrays.insert(name.to_owned(), array);
        }
        Ok(Self { arrays, options })
    }

    /// The options in YAML: the file's own, else those in `model.npz.yml`, which Marian writes when it trains.
    pub(super) fn options(&self, path: &Path) -> Result<String, ImportError> {
        let Some(bytes) = self.options else {
            let beside = path.with_added_extension("yml");
            let remedy = format!("{} has no {OPTIONS} either; copy both from the training", path.display());
            return crate::import::error::read_text(&beside, &remedy);
        };
        // Marian writes the terminating zero too.
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8(text.to_vec()).map_err(|_| ImportError::Damaged {
            path: path.to_owned(),
            reason: format!("{OPTIONS} is not UTF-8"),
            remedy: "copy the file again".to_owned(),
        })
    }
}

/// What a `.npy` file says of its values.
struct Header {
    element: Element,
    shape: Vec<usize>,
    fortran_order: bool,
}

impl Header {
    /// The header, and the bytes after it.
    fn read(entry: &[u8]) -> Option<(Self, &[u8])> {
        let (&[major, _minor], rest) = entry.strip_prefix(b"\x93NUMPY")?.split_first_chunk()?;
        let (length, rest) = if major == 1 {
            let (length, rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        } else {
            let (length, rest) = rest.split_first_chunk()?;
            (usize::try_from(u32::from_le_bytes(*length)).ok()?, rest)
        };
        let (header, data) = rest.split_at_checked(length)?;
        // A Python dict of literals with these three keys.
        let header = str::from_utf8(header).ok()?;
        let value = |key: &str| {
            let (_, after) = header.split_once(&format!("'{key}':"))?;
            Some(after.trim_start())
        };
        let descr = value("descr")?.strip_prefix('\'')?.split('\'').next()?;
        let (shape, _) = value("shape")?.strip_prefix('(')?.split_once(')')?;
        let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
        let element = match descr {
            "<f2" => Element::F16,
            "<f4" => Element::F32,
            "<f8" => Element::F64,
            other => Element::Other(other.to_owned()),
        };
        let shape = sizes.map(|size| size.parse().ok()).collect::<Option<_>>()?;
        Some((Self { element, shape, fortran_order: value("fortran_order")?.starts_with("True") }, data))
    }

    fn array(self, data: &[u8]) -> Option<Stored<'_>> {
        let Self { element, shape, fortran_order } = self;
        if !fortran_order {
            return Stored::in_order(element, shape, data);
        }
        let strides = shape.iter().scan(1usize, |stride, &n| Some(std::mem::replace(stride, stride.saturating_mul(n))));
        let strides = strides.collect();
        Stored::strided(element, shape, strides, 0, data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
    }

    fn values(header: &str, data: &[u8]) -> Option<Vec<f32>> {
        let entry = npy(header, data);
        let (header, data) = Header::read(&entry)?;
        header.array(data)?.values()
    }

    #[test]
    fn arrays_in_both_orders() {
        let data: Vec<u8> = (0..6).flat_map(|x| (x as f32).to_le_bytes()).collect();
        let header = |order| format!("{{'descr': '<f4', 'fortran_order': {order}, 'shape': (2, 3), }}          \n");
        assert_eq!(values(&header("False"), &data), Some(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
        assert_eq!(values(&header("True"), &data), Some(vec![0.0, 2.0, 4.0, 1.0, 3.0, 5.0]));
        assert_eq!(values(&header("False"), &data[1..]), None);
        assert_eq!(
            values("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", &2.5f64.to_le_bytes()),
            Some(vec![2.5])
        );
    }

    #[test]
    fn damaged_headers_are_no_arrays() {
        let whole = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", &[0; 4]);
        assert!(Header::read(&whole).is_some());
        for end in 0..whole.len() - 4 {
            assert!(Header::read(&whole[..end]).is_none(), "{end}");
        }
        for header in
            ["", "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "{'descr': '<f4', 'shape': (1,), }"]
        {
            assert!(Header::read(&npy(header, &[0; 4])).is_none(), "{header}");
        }
    }
}
