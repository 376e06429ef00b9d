//! Does the same job with the reference, which needs the entire file in memory and a heap.
#![no_std]
#![no_main]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::{NonNull, null_mut};
use linked_list_allocator::Heap;
use measure::{Job, MEMORY, Step, figure};
use safetensors::SafeTensors;

/// The heap, in the device's memory after the file.
const HEAP: usize = MEMORY + 0x00c0_0000;
/// More than the reference needs for the measured headers, except for the one that is too long.
const HEAP_LEN: usize = 2 << 20;

measure::program!(|job| job.done = open_find_read(job), report);

fn open_find_read(job: &mut Job) -> Option<u32> {
    COUNTED.begin();
    let tensors = SafeTensors::deserialize(job.file).ok()?;
    if job.last == Step::Open {
        return Some(tensors.len() as u32);
    }
    // Its bytes are in the file, and can be read there.
    Some(tensors.tensor(job.name).ok()?.data().len() as u32)
}

fn report() {
    // SAFETY: there is one thread.
    figure("heap", unsafe { (*COUNTED.0.get()).peak } as u32);
}

/// A heap, with counts of its use.
struct Counted {
    heap: Heap,
    now: usize,
    peak: usize,
}

struct Memory(UnsafeCell<Counted>);

// SAFETY: there is one thread, and there are no interrupts.
unsafe impl Sync for Memory {}

#[global_allocator]
static COUNTED: Memory = Memory(UnsafeCell::new(Counted { heap: Heap::empty(), now: 0, peak: 0 }));

impl Memory {
    /// Gives the heap its memory, unless an earlier run has.
    fn begin(&self) {
        // SAFETY: there is one thread, and nothing has been allocated.
        let Counted { heap, .. } = unsafe { &mut *self.0.get() };
        if heap.size() == 0 {
            // SAFETY: memory of the device that nothing else uses.
            unsafe { heap.init(HEAP as *mut u8, HEAP_LEN) };
        }
    }
}

impl Counted {
    fn allocate(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let allocation = self.heap.allocate_first_fit(layout).ok()?;
        self.now = self.now.wrapping_add(layout.size());
        self.peak = self.peak.max(self.now);
        Some(allocation)
    }
}

// SAFETY: the heap fulfils the contract, and the counts do not affect it.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: there is one thread, and nothing here calls back.
        let memory = unsafe { &mut *self.0.get() };
        memory.allocate(layout).map_or(null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; the caller got the pointer from `alloc` with this layout.
        let memory = unsafe { &mut *self.0.get() };
        memory.now = memory.now.wrapping_sub(layout.size());
        if let Some(pointer) = NonNull::new(pointer) {
            // SAFETY: as above.
            unsafe { memory.heap.deallocate(pointer, layout) };
        }
    }
}
