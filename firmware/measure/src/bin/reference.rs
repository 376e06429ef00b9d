//! The same job with the reference, which wants the whole file in memory and a heap.
#![no_std]
#![no_main]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::hint::black_box;
use core::ptr::{NonNull, null_mut};
use linked_list_allocator::Heap;
use measure::{Job, Step, figure, heap};
use safetensors::SafeTensors;

/// How often the tensor is looked up where that is counted: once takes less than opening takes more in one run than in the next.
const LOOKUPS: u32 = 64;

measure::program!(lend_heap, |job| job.done = open_find_read(job), |_| report());

/// The request says how large the heap is.
fn lend_heap(len: usize) {
    // SAFETY: nothing else runs, and nothing has been allocated.
    let memory = unsafe { &mut *MEMORY.0.get() };
    // SAFETY: memory of the machine that nothing else uses; once.
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
        // Its bytes lie in the file; whoever wants them reads them there.
        len = black_box(tensor.data()).len() as u32;
    }
    Some(len)
}

fn report() {
    // SAFETY: nothing else runs.
    let Counted { peak, count, .. } = unsafe { &*MEMORY.0.get() };
    figure("heap", *peak as u32);
    figure("allocations", *count);
    figure("lookups", LOOKUPS);
}

/// A heap, and how much of it was asked for.
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
        let place = self.heap.allocate_first_fit(layout).ok()?;
        self.now = self.now.wrapping_add(layout.size());
        self.peak = self.peak.max(self.now);
        self.count = self.count.wrapping_add(1);
        Some(place)
    }
}

// SAFETY: the heap keeps to the contract; the counts change none of it.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: there is one thread, and nothing here calls back.
        let memory = unsafe { &mut *self.0.get() };
        memory.allocate(layout).map_or(null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above; the caller has it from `alloc` with this layout.
        let memory = unsafe { &mut *self.0.get() };
        memory.now = memory.now.wrapping_sub(layout.size());
        if let Some(place) = NonNull::new(place) {
            // SAFETY: as above.
            unsafe { memory.heap.deallocate(place, layout) };
        }
    }
}
