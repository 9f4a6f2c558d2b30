//! The documents of the server: the page with the frame, its script, the state of the run, and the report page.

use super::moments::Moments;
use crate::exit::Failure;
use iosonar_serve::{Answer, Reply, Site};
use iosonar_view::live_page;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Policy of documents that load nothing.
const NOTHING: &str = "default-src 'none'";
/// Only the page with the frame may hold the report page, whose other rules are in itself.
const IN_FRAME: &str = "frame-ancestors 'self'";

pub struct LiveSite {
    first: Arc<[u8]>,
    script: Arc<[u8]>,
    moments: Mutex<Moments>,
}

impl LiveSite {
    /// A site of the run with this name.
    pub fn new(name: &str, moments: Moments) -> LiveSite {
        LiveSite {
            first: live_page::html(name).into_bytes().into(),
            script: live_page::SCRIPT.as_bytes().into(),
            moments: Mutex::new(moments),
        }
    }

    /// The run. A page that broke has changed nothing of it.
    fn moments(&self) -> MutexGuard<'_, Moments> {
        self.moments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> Result<Arc<[u8]>, Failure> {
        Ok(self.moments().state()?.to_string().into_bytes().into())
    }
}

impl Site for LiveSite {
    fn reply(&self, name: &str) -> Reply {
        let found = |media, policy, body| Reply::Found(Answer { media, policy, body });
        let or_why = |body: Result<Arc<[u8]>, Failure>, media, policy| match body {
            Ok(body) => found(media, policy, body),
            Err(failure) => Reply::Unavailable(failure.text()),
        };
        match name {
            "" => found("text/html; charset=utf-8", live_page::POLICY, self.first.clone()),
            "live.js" => found("text/javascript; charset=utf-8", NOTHING, self.script.clone()),
            "state" => or_why(self.state(), "application/json", NOTHING),
            "page" => or_why(self.moments().page(), "text/html; charset=utf-8", IN_FRAME),
            _ => Reply::Missing,
        }
    }
}
