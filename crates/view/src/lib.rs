//! Shows a summary and its diagrams: text for a terminal, pictures as PNG and SVG, one HTML page.
//!
//! This room draws. Every figure and every count comes from `analyze`; here they are only placed, scaled and
//! coloured.

mod calibration_text;
mod charts;
mod compare;
mod data;
mod demand_text;
mod density;
mod examination;
mod extent_text;
pub mod fonts;
mod free_text;
mod health;
mod judgement_text;
mod knee_text;
mod layout_text;
mod lines;
pub mod live;
mod machine_lanes;
mod mail_text;
mod matrix_comparison_page;
mod matrix_page;
pub mod palette;
mod plot;
mod raster;
pub mod report;
pub mod scene;
mod stamps;
mod summary_text;
mod svg;
mod verify_text;

pub use calibration_text::{CalibrationText, ClockText, EngineText, TimerText, show_calibration};
pub use charts::{
    CompareMaterial, ComparePicture, Headline, KneeMaterial, LayoutOverview, LayoutRow, Material, MatrixGrid,
    MatrixMaterial, NOT_DRAWN, Picture, Plateau, RunMaterial, Subject, change_svg, compare_subject, heat_svg,
    layout_overview, layout_picture, matrix_range, plot_compare, plot_knee, plot_matrix,
};
pub use compare::{compare, csv as compare_csv, markdown as compare_markdown};
pub use data::{DataOptions, data_files, data_stems, write_data, write_data_files};
pub use demand_text::{show_demand, show_findings};
pub use examination::{Examination, show_examination};
pub use extent_text::show_extent_latencies;
pub use free_text::show_free;
pub use iosonar_text::units;
pub use judgement_text::{explain, show_judgement};
pub use knee_text::{KneeText, show_knee};
pub use layout_text::{MapUnit, show_map, show_maps};
pub use mail_text::{LatencyText, LoadText, TextOptions, TextReport, text_report};
pub use matrix_comparison_page::{ComparedMaps, MatrixComparisonPart, matrix_comparison_page};
pub use matrix_page::{MatrixCell, MatrixPage, matrix_page};
pub use palette::Theme;
pub use plot::{Folder, Format, PlotOptions, Plotted, Scale, Style, picture_files, plot};
pub use raster::png;
pub use stamps::data_errors;
pub use summary_text::{show, show_deskew};
pub use svg::{escape, svg};
pub use verify_text::{sentence as fault_sentence, verified};
