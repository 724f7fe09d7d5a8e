//! As much of Python's pickle as a state dict needs, and nothing that runs code.
//!
//! A pickle is a program for a stack machine whose instructions may call any function by name. Here a call is one of
//! the four that build tensors, each of which only notes its arguments; any other name is refused before it is called.
//! Time and memory are a small multiple of the file's length: values are numbers that stand for objects in one list,
//! so that copies cost nothing and nesting, cycles included, needs no recursion.
//!
//! Instructions after the comments of CPython's `pickletools`, protocols 2 to 5.

use std::collections::BTreeMap;

/// What stands on the stack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'p> {
    None,
    Bool(bool),
    Int(i64),
    Float,
    Text(&'p str),
    /// Of [`Pickle::objects`].
    Object(usize),
    Call(Call),
    /// A storage class of the `torch` module, by its name.
    StorageType(&'p str),
}

/// A function that may be named.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Call {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
}

/// What the values refer to.
#[derive(Debug)]
pub(super) enum Object<'p> {
    Tuple(Vec<Value<'p>>),
    List(Vec<Value<'p>>),
    Dict(Vec<(Value<'p>, Value<'p>)>),
    /// The tuple by which torch names bytes outside of the pickle.
    Persistent(Value<'p>),
    /// The tuple of arguments of `torch._utils._rebuild_tensor_v2`. A copy of it for each call could fill any memory.
    Tensor(Value<'p>),
}

/// The program's result.
#[derive(Debug)]
pub(super) struct Pickle<'p> {
    pub(super) objects: Vec<Object<'p>>,
    pub(super) result: Value<'p>,
}

/// Runs the program; fails with what is wrong or not supported.
pub(super) fn read(bytes: &[u8]) -> Result<Pickle<'_>, String> {
    let mut machine = Machine {
        input: bytes,
        at: 0,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: BTreeMap::new(),
        objects: Vec::new(),
    };
    loop {
        let at = machine.at;
        match machine.step() {
            Ok(None) => {}
            Ok(Some(result)) => return Ok(Pickle { objects: machine.objects, result }),
            Err(Fault::Damaged) => return Err(format!("the pickle is damaged at byte {at}")),
            Err(Fault::Refused(what)) => return Err(what),
        }
    }
}

enum Fault {
    Damaged,
    Refused(String),
}

struct Machine<'p> {
    input: &'p [u8],
    at: usize,
    stack: Vec<Value<'p>>,
    /// Heights of the stack where marks stand.
    marks: Vec<usize>,
    memo: BTreeMap<u32, Value<'p>>,
    objects: Vec<Object<'p>>,
}

impl<'p> Machine<'p> {
    /// One instruction; the result with the last.
    fn step(&mut self) -> Result<Option<Value<'p>>, Fault> {
        let [code] = self.array()?;
        let value = match code {
            // Protocol and frame headers: nothing to do.
            0x80 => return self.take(1).map(|_| None),
            0x95 => return self.take(8).map(|_| None),
            b'.' => return self.pop().map(Some),
            b'(' => {
                self.marks.push(self.stack.len());
                return Ok(None);
            }
            b'q' | b'r' | 0x94 => {
                let slot = match code {
                    b'q' => u32::from(self.byte()?),
                    b'r' => u32::from_le_bytes(self.array()?),
                    _ => self.memo.len() as u32,
                };
                let top = *self.stack.last().ok_or(Fault::Damaged)?;
                self.memo.insert(slot, top);
                return Ok(None);
            }
            b's' | b'u' | b'a' | b'e' | b'b' => return self.fill(code).map(|()| None),
            b'h' | b'j' => {
                let slot = if code == b'h' { u32::from(self.byte()?) } else { u32::from_le_bytes(self.array()?) };
                *self.memo.get(&slot).ok_or(Fault::Damaged)?
            }
            b'N' => Value::None,
            0x88 | 0x89 => Value::Bool(code == 0x88),
            b'K' => Value::Int(self.byte()?.into()),
            b'M' => Value::Int(u16::from_le_bytes(self.array()?).into()),
            b'J' => Value::Int(i32::from_le_bytes(self.array()?).into()),
            0x8a => {
                let length = self.byte()?;
                Value::Int(long(self.take(length.into())?)?)
            }
            b'G' => self.take(8).map(|_| Value::Float)?,
            b'X' | 0x8c => {
                let length = if code == b'X' { u32::from_le_bytes(self.array()?) } else { u32::from(self.byte()?) };
                Value::Text(self.text(length)?)
            }
            b')' => self.object(Object::Tuple(Vec::new())),
            b']' => self.object(Object::List(Vec::new())),
            b'}' => self.object(Object::Dict(Vec::new())),
            0x85..=0x87 => {
                let from = self.stack.len().checked_sub(usize::from(code - 0x84)).ok_or(Fault::Damaged)?;
                let items = self.above(from)?;
                self.object(Object::Tuple(items))
            }
            b't' => {
                let items = self.marked()?;
                self.object(Object::Tuple(items))
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                global(module, name)?
            }
            0x93 => match (self.pop()?, self.pop()?) {
                (Value::Text(name), Value::Text(module)) => global(module, name)?,
                _ => return Err(Fault::Damaged),
            },
            b'Q' => {
                let id = self.pop()?;
                self.object(Object::Persistent(id))
            }
            b'R' => {
                let (arguments, function) = (self.pop()?, self.pop()?);
                self.call(function, arguments)?
            }
            other => {
                return Err(Fault::Refused(format!(
                    "the pickle has the instruction {other:#04x}, which no state dict needs"
                )));
            }
        };
        self.stack.push(value);
        Ok(None)
    }

    /// The calls of a state dict, by what they would return.
    fn call(&mut self, function: Value<'p>, arguments: Value<'p>) -> Result<Value<'p>, Fault> {
        let Value::Object(index) = arguments else { return Err(Fault::Damaged) };
        let Some(Object::Tuple(values)) = self.objects.get(index) else { return Err(Fault::Damaged) };
        match (function, values.as_slice()) {
            (Value::Call(Call::OrderedDict), []) => Ok(self.object(Object::Dict(Vec::new()))),
            (Value::Call(Call::RebuildTensor), _) => Ok(self.object(Object::Tensor(Value::Object(index)))),
            // The tensor that the parameter wraps.
            (Value::Call(Call::RebuildParameter), [tensor, ..]) => Ok(*tensor),
            _ => Err(Fault::Damaged),
        }
    }

    /// Instructions that add to the object below their arguments.
    fn fill(&mut self, code: u8) -> Result<(), Fault> {
        let items = match code {
            b's' => self.above(self.stack.len().checked_sub(2).ok_or(Fault::Damaged)?)?,
            b'a' | b'b' => vec![self.pop()?],
            _ => self.marked()?,
        };
        let Some(Value::Object(index)) = self.stack.last() else { return Err(Fault::Damaged) };
        match (code, self.objects.get_mut(*index)) {
            // Attributes of a dict: its `_metadata`, which says nothing of the weights.
            (b'b', Some(Object::Dict(_))) => Ok(()),
            (b's' | b'u', Some(Object::Dict(entries))) => {
                let (pairs, rest) = items.as_chunks();
                entries.extend(pairs.iter().map(|&[key, value]| (key, value)));
                if rest.is_empty() { Ok(()) } else { Err(Fault::Damaged) }
            }
            (b'a' | b'e', Some(Object::List(list))) => {
                list.extend(items);
                Ok(())
            }
            _ => Err(Fault::Damaged),
        }
    }

    fn object(&mut self, object: Object<'p>) -> Value<'p> {
        self.objects.push(object);
        Value::Object(self.objects.len() - 1)
    }

    fn pop(&mut self) -> Result<Value<'p>, Fault> {
        // What lies below a mark belongs to those who set it.
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() > floor { self.stack.pop().ok_or(Fault::Damaged) } else { Err(Fault::Damaged) }
    }

    fn marked(&mut self) -> Result<Vec<Value<'p>>, Fault> {
        let from = self.marks.pop().ok_or(Fault::Damaged)?;
        self.above(from)
    }

    /// Takes the stack's values from `from` on.
    fn above(&mut self, from: usize) -> Result<Vec<Value<'p>>, Fault> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if from < floor || from > self.stack.len() { Err(Fault::Damaged) } else { Ok(self.stack.split_off(from)) }
    }

    fn take(&mut self, length: usize) -> Result<&'p [u8], Fault> {
        let rest = self.input.get(self.at..).ok_or(Fault::Damaged)?;
        let taken = rest.get(..length).ok_or(Fault::Damaged)?;
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        self.take(N)?.try_into().map_err(|_| Fault::Damaged)
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        self.array().map(|[byte]| byte)
    }

    fn text(&mut self, length: u32) -> Result<&'p str, Fault> {
        let length = usize::try_from(length).map_err(|_| Fault::Damaged)?;
        str::from_utf8(self.take(length)?).map_err(|_| Fault::Damaged)
    }

    fn line(&mut self) -> Result<&'p str, Fault> {
        let rest = self.input.get(self.at..).ok_or(Fault::Damaged)?;
        let length = rest.iter().position(|&byte| byte == b'\n').ok_or(Fault::Damaged)?;
        let line = str::from_utf8(self.take(length)?).map_err(|_| Fault::Damaged)?;
        self.take(1).map(|_| line)
    }
}

/// What a name stands for, if it is one of those a state dict needs.
fn global<'p>(module: &str, name: &'p str) -> Result<Value<'p>, Fault> {
    Ok(match (module, name) {
        ("collections", "OrderedDict") => Value::Call(Call::OrderedDict),
        ("torch._utils", "_rebuild_tensor_v2") => Value::Call(Call::RebuildTensor),
        ("torch._utils", "_rebuild_parameter") => Value::Call(Call::RebuildParameter),
        ("torch", name) if name.ends_with("Storage") => Value::StorageType(name),
        _ => {
            let name: String = format!("{module}.{name}").chars().take(80).collect();
            return Err(Fault::Refused(format!("the pickle calls {name:?}, which is not run")));
        }
    })
}

/// A little-endian number in two's complement, up to eight bytes.
fn long(bytes: &[u8]) -> Result<i64, Fault> {
    let sign = if bytes.last().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
    let mut wide = [sign; 8];
    wide.get_mut(..bytes.len()).ok_or(Fault::Damaged)?.copy_from_slice(bytes);
    Ok(i64::from_le_bytes(wide))
}

#[cfg(test)]
mod tests;
