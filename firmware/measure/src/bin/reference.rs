//! Does the same job with the reference, which needs the entire file in memory and a heap.
#![no_std]
#![no_main]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::hint::black_box;
use core::ptr::{NonNull, null_mut};
use linked_list_allocator::Heap;
use measure::{Job, Step, figure, heap};
use safetensors::SafeTensors;

/// The number of lookups that are counted together: a single one takes less than the variation of opening
/// between runs.
const LOOKUPS: u32 = 64;

measure::program!(init_heap, |job| job.done = open_find_read(job), |_| report());

/// Creates the heap with the requested length.
fn init_heap(len: usize) {
    // SAFETY: there is one thread, and nothing has been allocated.
    let memory = unsafe { &mut *MEMORY.0.get() };
    // SAFETY: memory of the device that nothing else uses; called once.
    unsafe { memory.heap.init(heap(), len) };
}

fn open_find_read(job: &mut Job<()>) -> Option<u32> {
    let tensors = SafeTensors::deserialize(job.file).ok()?;
    if job.last == Step::Open {
        return Some(tensors.len() as u32);
    }
    let mut len = 0;
    for _ in 0..if job.last == Step::Find { LOOKUPS } else { 1 } {
        let tensor = tensors.tensor(black_box(job.name)).ok()?;
        // Its bytes are in the file, and can be read there.
        len = black_box(tensor.data()).len() as u32;
    }
    Some(len)
}

fn report() {
    // SAFETY: there is one thread.
    let Counted { peak, count, .. } = unsafe { &*MEMORY.0.get() };
    figure("heap", *peak as u32);
    figure("allocations", *count);
    figure("lookups", LOOKUPS);
}

/// A heap, with counts of its use.
struct Counted {
    heap: Heap,
    now: usize,
    peak: usize,
    count: u32,
}

struct Memory(UnsafeCell<Counted>);

// SAFETY: there is one thread, and there are no interrupts.
unsafe impl Sync for Memory {}

#[global_allocator]
static MEMORY: Memory = Memory(UnsafeCell::new(Counted { heap: Heap::empty(), now: 0, peak: 0, count: 0 }));

impl Counted {
    fn allocate(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let allocation = self.heap.allocate_first_fit(layout).ok()?;
        self.now = self.now.wrapping_add(layout.size());
        self.peak = self.peak.max(self.now);
        self.count = self.count.wrapping_add(1);
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
