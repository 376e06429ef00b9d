//! What both programs need of the device.

use core::{ops::Range, panic::PanicInfo};
use esp_bootloader_esp_idf::partitions::{PARTITION_TABLE_MAX_LEN, read_partition_table};
use esp_println::println;
use esp_storage::FlashStorage;

/// Returns the addresses of the partition with this label.
pub fn partition(flash: &mut FlashStorage<'_>, label: &str) -> Option<Range<u32>> {
    let mut buffer = [0; PARTITION_TABLE_MAX_LEN];
    let table = read_partition_table(flash, &mut buffer).ok()?;
    let entry = table.iter().find(|entry| entry.label_as_str() == label)?;
    Some(entry.offset()..entry.offset() + entry.len())
}

/// Does nothing any more.
pub fn stop() -> ! {
    loop {
        core::hint::spin_loop();
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    println!("{}", info);
    stop()
}
