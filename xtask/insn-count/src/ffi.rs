//! The functions of QEMU's plugin interface that this plugin calls (`qemu-plugin.h`, version 1).

use std::ffi::{c_char, c_int, c_uint, c_void};

/// The plugin's number.
pub type Id = u64;
/// A translated block, alive during its callback.
pub enum TranslatedBlock {}
/// An instruction of one.
pub enum Insn {}

/// `QEMU_PLUGIN_CB_NO_REGS`: the callback reads no register.
pub const NO_REGISTERS: c_int = 0;
/// `QEMU_PLUGIN_MEM_RW`. QEMU 7.2 calls back on writes where reads alone are asked for, so this asks for both, of
/// instructions that only read.
pub const ACCESSES: c_int = 3;

/// What `qemu_plugin_install` is told; only the first field is read.
#[repr(C)]
pub struct Info {
    pub target_name: *const c_char,
}

/// A callback with what was registered with it.
pub type OnRun = unsafe extern "C" fn(cpu: c_uint, data: *mut c_void);

unsafe extern "C" {
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, call: unsafe extern "C" fn(Id, *mut TranslatedBlock));
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut TranslatedBlock,
        call: OnRun,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(insn: *mut Insn, call: OnRun, flags: c_int, data: *mut c_void);
    pub fn qemu_plugin_register_vcpu_mem_cb(
        insn: *mut Insn,
        call: unsafe extern "C" fn(cpu: c_uint, info: u32, address: u64, data: *mut c_void),
        flags: c_int,
        accesses: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_tb_n_insns(block: *const TranslatedBlock) -> usize;
    pub fn qemu_plugin_tb_get_insn(block: *const TranslatedBlock, index: usize) -> *mut Insn;
    pub fn qemu_plugin_insn_data(insn: *const Insn) -> *const u8;
    pub fn qemu_plugin_insn_size(insn: *const Insn) -> usize;
    pub fn qemu_plugin_insn_vaddr(insn: *const Insn) -> u64;
    pub fn qemu_plugin_mem_size_shift(info: u32) -> c_uint;
}
