//! The plugin: QEMU's callbacks.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::io::Write;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::block::{Block, Isa};
use crate::class::{Counts, Marker};
use crate::ffi::{self, ACCESSES, Id, Info, NO_REGISTERS, TranslatedBlock};
use crate::region::{Flow, Reads, lines};

/// The interface version that this plugin was made for, read by QEMU.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 1;

/// The address after the last block, and how often the next one was elsewhere.
static LAST_END: AtomicU64 = AtomicU64::new(0);
static TAKEN: AtomicU64 = AtomicU64::new(0);
/// Whether the last block ended with a load or store, and how often a load began the block right behind it. Such loads
/// are no first ones: QEMU ends blocks at pages too, and where code lies must not count.
static LAST_MEMORY: AtomicBool = AtomicBool::new(false);
static OVERLAPS: AtomicU64 = AtomicU64::new(0);
/// Whether a region is being counted.
static ACTIVE: AtomicBool = AtomicBool::new(false);
static SHARED: OnceLock<Shared> = OnceLock::new();

struct Shared {
    isa: Isa,
    profile: bool,
    reads: Option<Mutex<Reads>>,
    state: Mutex<State>,
}

struct State {
    out: File,
    regions: u64,
    blocks: Vec<&'static Block>,
    /// Where the present region began, and the counts after its marker.
    head: (u64, Counts),
}

/// Called by QEMU once, with `KEY=VALUE` arguments.
///
/// # Safety
///
/// `info` and `argv` must be what QEMU passes: a record that begins as [`Info`], and `argc` strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    info: *const Info,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: QEMU passes a record with the target's name.
    let target = unsafe { CStr::from_ptr((*info).target_name) }.to_string_lossy();
    let isa = if target.starts_with("riscv") { Isa::RiscV } else { Isa::Thumb };
    // SAFETY: QEMU passes `argc` strings.
    let args = (0..argc as usize).map(|i| unsafe { CStr::from_ptr(*argv.add(i)) }.to_string_lossy());
    let shared = match open(isa, args) {
        Ok(shared) => shared,
        Err(error) => {
            eprintln!("insn-count: {error}");
            return 1;
        }
    };
    if SHARED.set(shared).is_err() {
        eprintln!("insn-count: installed twice");
        return 1;
    }
    // SAFETY: `id` is this plugin's, and the callback has the type that is asked for.
    unsafe { ffi::qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate) };
    0
}

fn open<S: AsRef<str>>(isa: Isa, args: impl Iterator<Item = S>) -> Result<Shared, String> {
    let (mut out, mut reads, mut profile) = (None, None, false);
    for arg in args {
        let arg = arg.as_ref();
        match arg.split_once('=') {
            Some(("out", path)) => out = Some(File::create(path).map_err(|error| format!("{path}: {error}"))?),
            Some(("reads", range)) => reads = Some(parse_range(range).ok_or_else(|| format!("no range: {arg}"))?),
            Some(("profile", "on")) => profile = true,
            _ => return Err(format!("unknown argument `{arg}`")),
        }
    }
    let out = out.ok_or("say where to write: out=FILE")?;
    let state = State { out, regions: 0, blocks: Vec::new(), head: (0, Counts::default()) };
    Ok(Shared { isa, profile, reads: reads.map(Mutex::new), state: Mutex::new(state) })
}

fn parse_range(range: &str) -> Option<Reads> {
    let (start, end) = range.split_once(':')?;
    Some(Reads::of(u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
}

unsafe extern "C" fn on_translate(_: Id, block: *mut TranslatedBlock) {
    let Some(shared) = SHARED.get() else { return };
    // SAFETY: the block is alive during this call, and indices are below its number of instructions.
    let insns: Vec<_> =
        unsafe { (0..ffi::qemu_plugin_tb_n_insns(block)).map(|i| ffi::qemu_plugin_tb_get_insn(block, i)).collect() };
    let looked = insns.iter().map(|&insn| {
        let mut bytes = [0; 4];
        // SAFETY: an instruction of the block, whose data are as long as its size says.
        unsafe {
            let size = ffi::qemu_plugin_insn_size(insn).min(4);
            ptr::copy_nonoverlapping(ffi::qemu_plugin_insn_data(insn), bytes.as_mut_ptr(), size);
            (ffi::qemu_plugin_insn_vaddr(insn), bytes)
        }
    });
    // Never freed: QEMU may run a block until it ends.
    let known: &'static Block = Box::leak(Box::new(Block::new(shared.isa, looked)));
    shared.state.lock().unwrap_or_else(PoisonError::into_inner).blocks.push(known);
    let data = ptr::from_ref(known).cast_mut().cast();
    // SAFETY: block and instructions are those of this call; what the callbacks are given lives for ever.
    unsafe {
        ffi::qemu_plugin_register_vcpu_tb_exec_cb(block, on_block, NO_REGISTERS, data);
        for (index, marker, after) in &known.markers {
            let call = match marker {
                Marker::Start => on_start,
                Marker::Stop => on_stop,
            };
            let place: &'static (u64, Counts) = Box::leak(Box::new((known.start, *after)));
            let data = ptr::from_ref(place).cast_mut().cast();
            ffi::qemu_plugin_register_vcpu_insn_exec_cb(insns[*index], call, NO_REGISTERS, data);
        }
        if shared.reads.is_some() {
            for &index in &known.readers {
                ffi::qemu_plugin_register_vcpu_mem_cb(insns[index], on_read, NO_REGISTERS, ACCESSES, ptr::null_mut());
            }
        }
    }
}

unsafe extern "C" fn on_block(_: c_uint, data: *mut c_void) {
    // SAFETY: registered with a block that is never freed.
    let block = unsafe { &*data.cast_const().cast::<Block>() };
    block.runs.fetch_add(1, Relaxed);
    if LAST_END.swap(block.end, Relaxed) != block.start {
        TAKEN.fetch_add(1, Relaxed);
    } else if block.begins_with_load && LAST_MEMORY.load(Relaxed) {
        OVERLAPS.fetch_add(1, Relaxed);
    }
    LAST_MEMORY.store(block.ends_with_memory, Relaxed);
}

unsafe extern "C" fn on_read(_: c_uint, info: u32, address: u64, _: *mut c_void) {
    if !ACTIVE.load(Relaxed) {
        return;
    }
    if let Some(reads) = SHARED.get().and_then(|shared| shared.reads.as_ref()) {
        // SAFETY: `info` is what this callback was called with.
        let len = 1 << unsafe { ffi::qemu_plugin_mem_size_shift(info) };
        reads.lock().unwrap_or_else(PoisonError::into_inner).note(address, len);
    }
}

unsafe extern "C" fn on_start(_: c_uint, data: *mut c_void) {
    let Some(shared) = SHARED.get() else { return };
    let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
    state.blocks.iter().for_each(|block| {
        block.take_runs();
    });
    // SAFETY: registered with a place that is never freed.
    state.head = unsafe { *data.cast_const().cast::<(u64, Counts)>() };
    TAKEN.store(0, Relaxed);
    OVERLAPS.store(0, Relaxed);
    if let Some(reads) = &shared.reads {
        reads.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
    ACTIVE.store(true, Relaxed);
}

unsafe extern "C" fn on_stop(_: c_uint, data: *mut c_void) {
    let Some(shared) = SHARED.get() else { return };
    if !ACTIVE.swap(false, Relaxed) {
        return;
    }
    let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: registered with a place that is never freed.
    let tail = unsafe { *data.cast_const().cast::<(u64, Counts)>() };
    let reads = shared.reads.as_ref().map(|reads| reads.lock().unwrap_or_else(PoisonError::into_inner));
    let flow = Flow { taken: TAKEN.load(Relaxed), overlaps: OVERLAPS.load(Relaxed) };
    let text = lines(state.regions, &state.blocks, state.head, tail, flow, reads.as_deref(), shared.profile);
    state.regions += 1;
    if let Err(error) = state.out.write_all(text.as_bytes()) {
        eprintln!("insn-count: cannot write: {error}");
    }
}
