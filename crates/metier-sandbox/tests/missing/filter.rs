//! Kernels that lack something: a thread whose system calls fail, and with them those of everything that it starts.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

// Not every suite needs all of it.
const _: [fn(u8, i32) -> Only; 2] = [Only::Is, Only::Bit];
const _: fn(u8) -> Only = Only::Some;
const _: fn(Lacking, c_long, Option<Only>) -> Lacking = Lacking::and;

/// Calls that fail, and how.
#[derive(Debug, Clone)]
pub(crate) struct Lacking {
    calls: Vec<(c_long, Option<Only>)>,
    error: i32,
}

/// The calls with this argument alone.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Only {
    /// An argument that has this bit.
    Bit(u8, i32),
    /// An argument that is this.
    Is(u8, i32),
    /// An argument that is not zero.
    Some(u8),
}

impl Lacking {
    /// A call fails with this error.
    pub(crate) fn new(call: c_long, only: impl Into<Option<Only>>, error: i32) -> Self {
        Self { calls: vec![(call, only.into())], error }
    }

    /// Another call fails as well.
    pub(crate) fn and(mut self, call: c_long, only: impl Into<Option<Only>>) -> Self {
        self.calls.push((call, only.into()));
        self
    }

    /// Does something where these calls fail.
    pub(crate) fn during<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = BTreeMap::new();
        for (call, only) in &self.calls {
            rules.entry(*call).or_default().extend(only.map(rule));
        }
        let fails = SeccompAction::Errno(self.error.cast_unsigned());
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, fails, arch).unwrap();
        let program: BpfProgram = filter.try_into().unwrap();
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                seccompiler::apply_filter(&program).unwrap();
                act()
            });
            thread.join().unwrap()
        })
    }
}

fn rule(only: Only) -> SeccompRule {
    let unsigned = |value: i32| u64::from(value.cast_unsigned());
    let (index, size, operator, value) = match only {
        Only::Bit(index, bit) => {
            (index, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(unsigned(bit)), unsigned(bit))
        }
        Only::Is(index, value) => (index, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, unsigned(value)),
        Only::Some(index) => (index, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0),
    };
    SeccompRule::new(vec![SeccompCondition::new(index, size, operator, value).unwrap()]).unwrap()
}
