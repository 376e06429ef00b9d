//! Models in slots of a flash that is awaited. A future that is dropped is like a power cut.

use embedded_safetensors::integrity::{Sha256, Sum};
use safetensors_slots::{Layout, Offer, Page, Phase, VerifyError, asynch::Slots};
use support::Chip;
use support::executor::{drop_at, finish};
use support::file::with_header;
use support::nor::NorFlashErrorKind;
use support::waiting::{Waiting, Waits};

const LAYOUT: Layout = Layout { region: 0..8 << 10, journal: 3, slots: 2 };

/// Starts twice, and installs a model that is not there.
async fn install(
    flash: &mut Chip<4>,
    offer: &Offer,
    file: &[u8],
) -> Result<(), VerifyError<NorFlashErrorKind>> {
    let mut page = Page([0; 256]);
    for _ in 0..2 {
        let flash = Waiting::new(&mut *flash, Waits { before: 1, after: 1 });
        let mut slots = Slots::new(flash, LAYOUT, &mut page.0);
        if slots.start().await?.is_some() {
            return if slots.next().is_some() { Ok(slots.confirm().await?) } else { Ok(()) };
        }
        if !matches!(slots.next(), Some((_, Phase::Verified))) {
            let at = slots.receive(offer).await? as usize;
            slots.push(&file[at..]).await?;
            slots.verify(offer, &|_: u32, _: &[u8], _: &[u8; 64]| true, &[0; 16], &mut []).await?;
        }
        slots.try_for(3).await?;
    }
    panic!("the model is not tried");
}

#[test]
fn a_dropped_update_continues() {
    let file = with_header(r#"{"a":{"dtype":"U8","shape":[1500],"data_offsets":[0,1500]}}"#, 1500);
    let mut sum = Sha256::new();
    sum.update(&file);
    let (len, sum) = (u32::try_from(file.len()).expect("short"), sum.finish());
    let offer = Offer { key: 0, device: [0; 16], len, counter: 7, sum, signature: [0; 64] };
    let dropped = (0..).take_while(|wait| {
        let mut flash = Chip::new(0xFF);
        let is_dropped = drop_at(*wait, install(&mut flash, &offer, &file)).is_none();
        assert_eq!(finish(install(&mut flash, &offer, &file)), Ok(()), "dropped at wait {wait}");
        is_dropped
    });
    assert!(dropped.count() > 100);
}
