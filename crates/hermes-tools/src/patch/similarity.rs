//! How alike two strings are: Ratcliff and Obershelp's ratio, `2·M/T`, where M
//! counts the characters in common runs and T all characters of both.

use std::collections::HashMap;

/// Between 0 (nothing in common) and 1 (equal).
pub fn ratio(a: &str, b: &str) -> f64 {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let total = a.len() + b.len();
    if total == 0 {
        return 1.0;
    }
    let mut places: HashMap<char, Vec<usize>> = HashMap::new();
    for (index, c) in b.iter().enumerate() {
        places.entry(*c).or_default().push(index);
    }
    let mut matched = 0;
    let mut open = vec![(0, a.len(), 0, b.len())];
    while let Some((a_low, a_high, b_low, b_high)) = open.pop() {
        let (i, j, size) = longest(&a, &places, (a_low, a_high), (b_low, b_high));
        if size > 0 {
            matched += size;
            open.push((a_low, i, b_low, j));
            open.push((i + size, a_high, j + size, b_high));
        }
    }
    2.0 * matched as f64 / total as f64
}

/// The longest common run within both ranges; the earliest where several are equal.
fn longest(
    a: &[char],
    places: &HashMap<char, Vec<usize>>,
    (a_low, a_high): (usize, usize),
    (b_low, b_high): (usize, usize),
) -> (usize, usize, usize) {
    let mut best = (a_low, b_low, 0);
    // Length of the run that ends at each place of b, for the previous character of a.
    let mut runs: HashMap<usize, usize> = HashMap::new();
    for (i, c) in a.iter().enumerate().take(a_high).skip(a_low) {
        let mut next = HashMap::new();
        for &j in places.get(c).map(Vec::as_slice).unwrap_or_default() {
            if j < b_low {
                continue;
            }
            if j >= b_high {
                break;
            }
            let length = j
                .checked_sub(1)
                .and_then(|j| runs.get(&j))
                .copied()
                .unwrap_or(0)
                + 1;
            next.insert(j, length);
            if length > best.2 {
                best = (i + 1 - length, j + 1 - length, length);
            }
        }
        runs = next;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_ratios() {
        assert_eq!(ratio("", ""), 1.0);
        assert_eq!(ratio("abc", ""), 0.0);
        assert_eq!(ratio("abcd", "bcde"), 0.75);
        assert!((ratio("timeout = 30", "timeout = 10") - 22.0 / 24.0).abs() < 1e-9);
    }
}
