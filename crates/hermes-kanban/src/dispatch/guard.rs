pub fn names_a_pull_request(text: &str) -> bool {
    text.contains("/pull/")
}
