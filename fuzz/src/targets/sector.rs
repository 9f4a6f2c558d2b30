//! Any bytes as sectors that were read, the first one as their fill: their classification holds, and never a panic.

use iosonar_content::{Sector, SectorHeader, damage, inspect, intact, regenerate, seed_of_tail, torn_at};
use iosonar_plan::Fill;

const POISON: u64 = 0x9015_0a72_c0ff_ee11;

/// See the module.
pub fn run(data: &[u8]) {
    let Some((percent, sectors)) = data.split_first() else { return };
    let fill = Fill { random_percent: percent % 101 };
    let mut before = [0; 512];
    for sector in sectors.as_chunks::<512>().0 {
        let sound = intact(sector, fill);
        match inspect(sector, fill, POISON) {
            Sector::Intact(header) => {
                assert_eq!(SectorHeader::decode(sector), Ok(header));
                assert!(sound.is_none_or(|sound| sound == header && regenerate(&header, fill) == *sector));
            }
            Sector::Damaged { damage, .. } => {
                assert!(sound.is_none() && damage.bits >= u32::from(damage.bytes) && damage.first <= damage.last);
            }
            Sector::Zeros | Sector::Ones | Sector::Poison | Sector::NoHeader => assert_eq!(sound, None),
        }
        let address = SectorHeader::decode(sector).map_or(0, |header| header.sector);
        assert!(seed_of_tail(sector, address, fill).is_none_or(|(_, from)| (64..512).contains(&from)));
        assert_eq!(damage(sector, &before).is_none(), *sector == before);
        let mut torn = before;
        torn[..99].copy_from_slice(&sector[..99]);
        assert!(torn_at(&torn, sector, &before).is_none_or(|at| at <= 99));
        before = *sector;
    }
}
