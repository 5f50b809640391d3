//! Full-text search over all messages.
//!
//! Words go to the `unicode61` index, Chinese, Japanese and Korean text of three
//! characters or more to the trigram index, shorter such text to the trigrams that
//! begin with it or, at worst, to a scan. Newest
//! first follows the message id backwards through the index and stops when it has
//! enough, so it costs the same however common a word is. No user text is a
//! syntax error: see [`query`].

mod find;
mod query;

pub use find::{ContextLine, SearchHit, SearchOrder, SearchRequest};
