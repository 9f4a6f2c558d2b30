//! Encoded columns as in a file: repeated columns are encoded once and copied.
//!
//! In most runs two thirds of the columns have a constant value: one target, one pass, no marks, one length. Of the
//! others some are equal: the executed range is the requested one. Encoding all of them again for each row group would
//! dominate the cost of a record.

use crate::columns::Values;
use crate::parquet::put;
use bytes::Bytes;
use parquet::column::writer::{ColumnCloseResult, get_column_writer};
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::fs::File;

/// A column chunk as in a file.
pub(crate) struct Encoded {
    pub(crate) rows: usize,
    pub(crate) bytes: Bytes,
    pub(crate) metadata: ColumnChunkMetaData,
}

impl Encoded {
    /// Encodes a column.
    pub(crate) fn of(
        values: &Values,
        description: ColumnDescPtr,
        properties: WriterPropertiesPtr,
    ) -> Result<Encoded> {
        let mut sink = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut sink));
        let mut column = get_column_writer(description, properties, pages);
        put(values, &mut column)?;
        let ColumnCloseResult { metadata, .. } = column.close()?;
        Ok(Encoded { rows: values.len(), bytes: sink.into_inner()?.into(), metadata })
    }

    /// The same values as another column of the same type, with `range` as its minimum and maximum.
    pub(crate) fn as_column(&self, description: ColumnDescPtr, range: Option<(i64, i64)>) -> Result<Encoded> {
        let metadata = &self.metadata;
        let mut same = ColumnChunkMetaData::builder(description)
            .set_compression_codec(metadata.compression_codec())
            .set_encodings_mask(*metadata.encodings_mask())
            .set_total_compressed_size(metadata.compressed_size())
            .set_total_uncompressed_size(metadata.uncompressed_size())
            .set_num_values(metadata.num_values())
            .set_data_page_offset(metadata.data_page_offset());
        if let Some(stats) = metadata.page_encoding_stats() {
            same = same.set_page_encoding_stats(stats.clone());
        }
        if let Some((least, greatest)) = range {
            let range = ValueStatistics::new(Some(least), Some(greatest), None, Some(0), false);
            same = same.set_statistics(Statistics::Int64(range));
        }
        Ok(Encoded { rows: self.rows, bytes: self.bytes.clone(), metadata: same.build()? })
    }

    /// Copies it into a row group as the next column.
    pub(crate) fn write(&self, group: &mut SerializedRowGroupWriter<'_, File>) -> Result<()> {
        let close = ColumnCloseResult {
            bytes_written: self.bytes.len() as u64,
            rows_written: self.rows as u64,
            metadata: self.metadata.clone(),
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&self.bytes, close)
    }
}
