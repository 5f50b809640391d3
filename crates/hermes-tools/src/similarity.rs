//! How alike two texts are, by the measure of Ratcliff and Obershelp: twice the
//! characters of the longest common blocks over all characters. Thresholds in
//! this project were chosen for exactly this measure.

use std::collections::HashMap;
use std::hash::Hash;

/// From 0 (nothing in common) to 1 (equal).
pub fn ratio(a: &str, b: &str) -> f64 {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    ratio_of(&a, &b)
}

/// The same for any sequence, such as lines.
pub fn ratio_of<T: Eq + Hash>(a: &[T], b: &[T]) -> f64 {
    if a.is_empty() && b.is_empty() {
        return 1.0;
    }
    let mut positions: HashMap<&T, Vec<usize>> = HashMap::new();
    for (index, item) in b.iter().enumerate() {
        positions.entry(item).or_default().push(index);
    }
    let mut matched = 0;
    let mut pending = vec![(0, a.len(), 0, b.len())];
    while let Some((a_from, a_to, b_from, b_to)) = pending.pop() {
        let (i, j, size) = longest(a, &positions, (a_from, a_to), (b_from, b_to));
        if size > 0 {
            matched += size;
            pending.push((a_from, i, b_from, j));
            pending.push((i + size, a_to, j + size, b_to));
        }
    }
    2.0 * matched as f64 / (a.len() + b.len()) as f64
}

/// The earliest of the longest common blocks within the two ranges.
fn longest<T: Eq + Hash>(
    a: &[T],
    positions: &HashMap<&T, Vec<usize>>,
    (a_from, a_to): (usize, usize),
    (b_from, b_to): (usize, usize),
) -> (usize, usize, usize) {
    let mut best = (a_from, b_from, 0);
    let mut ending: HashMap<usize, usize> = HashMap::new();
    for (i, item) in a.iter().enumerate().take(a_to).skip(a_from) {
        let mut next = HashMap::new();
        for &j in positions.get(item).map_or(&[][..], Vec::as_slice) {
            if j < b_from {
                continue;
            }
            if j >= b_to {
                break;
            }
            let size = if j == 0 {
                1
            } else {
                ending.get(&(j - 1)).copied().unwrap_or(0) + 1
            };
            next.insert(j, size);
            if size > best.2 {
                best = (i + 1 - size, j + 1 - size, size);
            }
        }
        ending = next;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values_hold() {
        assert_eq!(ratio("", ""), 1.0);
        assert_eq!(ratio("abcd", "bcde"), 0.75);
        assert_eq!(ratio("abc", "xyz"), 0.0);
        assert!((ratio("readfile", "read_file") - 16.0 / 17.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn it_is_one_only_for_equal_texts(a in "[a-c]{0,12}", b in "[a-c]{0,12}") {
            let value = ratio(&a, &b);
            prop_assert!((0.0..=1.0).contains(&value));
            prop_assert_eq!(value == 1.0, a == b);
        }
    }
}
