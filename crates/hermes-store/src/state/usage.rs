//! Counters of a session: tokens, calls, money.

use hermes_types::{Cost, CostStatus, SessionId, Usage};
use rusqlite::params;

use super::StateDb;
use crate::StoreError;
use crate::tables::UNKNOWN_SOURCE;

/// What one or more model calls added. Everything is added to what is there;
/// model and billing are remembered from the first call that names them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageUpdate {
    pub usage: Usage,
    pub api_calls: u64,
    pub model: Option<String>,
    pub billing_provider: Option<String>,
    pub billing_base_url: Option<String>,
    pub billing_mode: Option<String>,
    pub cost: Option<Cost>,
    /// Where the price came from.
    pub cost_source: Option<String>,
    pub pricing_version: Option<String>,
}

impl StateDb {
    /// Counters may arrive before the session does: then a row of source
    /// `unknown` holds them until [`StateDb::create_session`] names it.
    pub fn record_usage(&self, id: &SessionId, update: &UsageUpdate) -> Result<(), StoreError> {
        let now = self.now();
        // An unknown price adds nothing: zero would claim that it was free.
        let (estimated, actual, status) = match update.cost {
            None => (None, None, None),
            Some(cost) => match cost.status {
                CostStatus::Actual => (Some(cost.usd), Some(cost.usd), Some("actual")),
                CostStatus::Estimated => (Some(cost.usd), None, Some("estimated")),
                CostStatus::Included => (Some(0.0), None, Some("included")),
                CostStatus::Unknown => (None, None, Some("unknown")),
            },
        };
        let count = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "INSERT OR IGNORE INTO sessions (id, source, started_at) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![id.as_str(), UNKNOWN_SOURCE, now])?;
            transaction
                .prepare_cached(
                    "UPDATE sessions SET \
                     input_tokens = COALESCE(input_tokens, 0) + ?2, \
                     output_tokens = COALESCE(output_tokens, 0) + ?3, \
                     cache_read_tokens = COALESCE(cache_read_tokens, 0) + ?4, \
                     cache_write_tokens = COALESCE(cache_write_tokens, 0) + ?5, \
                     reasoning_tokens = COALESCE(reasoning_tokens, 0) + ?6, \
                     api_call_count = COALESCE(api_call_count, 0) + ?7, \
                     model = COALESCE(model, ?8), \
                     billing_provider = COALESCE(billing_provider, ?9), \
                     billing_base_url = COALESCE(billing_base_url, ?10), \
                     billing_mode = COALESCE(billing_mode, ?11), \
                     estimated_cost_usd = CASE WHEN ?12 IS NULL THEN estimated_cost_usd \
                       ELSE COALESCE(estimated_cost_usd, 0) + ?12 END, \
                     actual_cost_usd = CASE WHEN ?13 IS NULL THEN actual_cost_usd \
                       ELSE COALESCE(actual_cost_usd, 0) + ?13 END, \
                     cost_status = COALESCE(?14, cost_status), \
                     cost_source = COALESCE(?15, cost_source), \
                     pricing_version = COALESCE(?16, pricing_version) \
                     WHERE id = ?1",
                )?
                .execute(params![
                    id.as_str(),
                    count(update.usage.input),
                    count(update.usage.output),
                    count(update.usage.cache_read),
                    count(update.usage.cache_write),
                    count(update.usage.reasoning),
                    count(update.api_calls),
                    update.model,
                    update.billing_provider,
                    update.billing_base_url,
                    update.billing_mode,
                    estimated,
                    actual,
                    status,
                    update.cost_source,
                    update.pricing_version,
                ])?;
            Ok(())
        })
    }
}
