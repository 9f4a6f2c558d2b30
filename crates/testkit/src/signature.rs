//! Hand-written signatures of members that can otherwise be created only with a driver.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Signatures that can be written to an image of 64 MiB or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signature {
    /// A member of an MD array, superblock 1.2: `struct mdp_superblock_1` of the kernel's `md_p.h`.
    MdMember,
    /// A member of a ZFS pool: the ring of uberblocks in the two labels at its start, `struct uberblock` of OpenZFS's
    /// `uberblock_impl.h`.
    ZfsMember,
}

impl Signature {
    /// Writes it.
    #[track_caller]
    pub fn write(self, image: &Path) {
        let file = File::options().write(true).open(image).expect("an image");
        let pieces = match self {
            Signature::MdMember => vec![(4096, md_superblock())],
            Signature::ZfsMember => zfs_uberblocks(),
        };
        for (offset, bytes) in pieces {
            file.write_all_at(&bytes, offset).expect("room for a signature");
        }
    }
}

fn put(block: &mut [u8], at: usize, bytes: &[u8]) {
    block[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Superblock of a RAID 1 of two devices named `lab:0`.
fn md_superblock() -> Vec<u8> {
    let max_devices = 2_u32;
    let mut block = vec![0; 256 + 2 * max_devices as usize];
    put(&mut block, 0, &0xa92b_4efc_u32.to_le_bytes());
    put(&mut block, 4, &1_u32.to_le_bytes());
    put(&mut block, 16, b"sixteen letters.");
    put(&mut block, 32, b"lab:0");
    put(&mut block, 72, &1_u32.to_le_bytes());
    let sectors = 100_000_u64.to_le_bytes();
    put(&mut block, 80, &sectors);
    put(&mut block, 92, &2_u32.to_le_bytes());
    // Start and size of the data, and location of this block, in sectors.
    put(&mut block, 128, &2048_u64.to_le_bytes());
    put(&mut block, 136, &sectors);
    put(&mut block, 144, &8_u64.to_le_bytes());
    put(&mut block, 220, &max_devices.to_le_bytes());
    put(&mut block, 258, &1_u16.to_le_bytes());
    let sum = block
        .chunks_exact(4)
        .map(|word| u64::from(u32::from_le_bytes(word.try_into().expect("4"))))
        .sum::<u64>();
    put(&mut block, 216, &((sum as u32).wrapping_add((sum >> 32) as u32)).to_le_bytes());
    block
}

/// Uberblocks: the ring starts 128 KiB into each label of 256 KiB; a slot has 1 KiB.
fn zfs_uberblocks() -> Vec<(u64, Vec<u8>)> {
    let uberblock = |slot: u64| {
        let mut block = vec![0; 1024];
        put(&mut block, 0, &0x00ba_b10c_u64.to_le_bytes());
        put(&mut block, 8, &5000_u64.to_le_bytes());
        put(&mut block, 16, &(slot + 1).to_le_bytes());
        block
    };
    let labels = [0_u64, 256 << 10];
    labels
        .iter()
        .flat_map(|label| (0..32).map(move |slot| (label + (128 << 10) + slot * 1024, uberblock(slot))))
        .collect()
}
