//! Made-up logs of several chunks: healthy lines of many forms, and lines that rules want where they are hardest to read.

use std::fmt::Write as _;

/// Numbers that follow from a seed alone.
#[derive(Debug, Clone)]
pub(crate) struct Numbers(u64);

impl Numbers {
    /// From a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next one below `end` (SplitMix64).
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end.max(1) as u64).unwrap()
    }
}

/// A log under construction.
#[derive(Debug)]
struct Log<'a> {
    text: String,
    numbers: &'a mut Numbers,
    second: usize,
}

impl Log<'_> {
    /// Time of the next line.
    fn clock(&mut self) -> String {
        self.second += self.numbers.below(3);
        format!("{:02}:{:02}:{:02}", 3 + self.second / 3600, self.second / 60 % 60, self.second % 60)
    }

    /// One to three lines, or segments, of a run without faults.
    fn healthy(&mut self) {
        let clock = self.clock();
        let n = self.numbers.below(100_000);
        let text = &mut self.text;
        match self.numbers.below(40) {
            0 => writeln!(text, "0: [rank{}]: loading shard {n:05}\r", n % 64),
            1 => {
                // A progress bar: many segments, one line.
                let bar = |text: &mut String, i: usize| write!(text, "\rValidation: {i:3}%|##        | {i}/100 [00:0{}<00:09]", i % 10);
                let steps = 2 + n % 9;
                (0..steps).try_for_each(|i| bar(text, i)).and_then(|()| writeln!(text))
            }
            2 => writeln!(text, "\u{1b}[36m(TrainWorker pid={n}, ip=10.0.3.7)\u{1b}[0m {clock} healthy"),
            // One long line: a printed configuration.
            3 if n.is_multiple_of(10) => writeln!(text, "config: {{{}}}", "'key': 'a value of no interest', ".repeat(1 + n % 1_200)),
            4 => writeln!(text),
            5 => writeln!(text, "2026-09-14T{clock}.{n:06}+00:00 lyra-047 systemd[1]: Started session {n}.\r"),
            _ => writeln!(
                text,
                " [2026-09-14 {clock}] iteration {n:8}/  500000 | consumed samples: {:12} | elapsed time per iteration (ms): 4{:03}.1 | \
                 lm loss: 1.{n:05}E+00 | number of skipped iterations:   0 |",
                n * 64,
                n % 1000
            ),
        }
        .unwrap();
    }

    /// Lines that some rule wants.
    fn wanted(&mut self) -> String {
        let clock = self.clock();
        let rank = self.numbers.below(128);
        let end = if self.numbers.below(3) == 0 { "\r\n" } else { "\n" };
        let error = |message: &str| {
            format!(
                "[rank{rank}]:[E914 {clock}.374913434 ProcessGroupNCCL.cpp:632] [Rank {rank}] {message}{end}"
            )
        };
        match self.numbers.below(7) {
            0 => error(
                "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=39390, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, \
                 Timeout(ms)=600000) ran for 600091 milliseconds before timing out.",
            ),
            1 => {
                let other = (rank + 1) % 128;
                format!(
                    "[rank{rank}]: Traceback (most recent call last):{end}[rank{other}]: Traceback (most recent call last):{end}\
                     [rank{rank}]:   File \"train.py\", line 10, in main{end}[rank{other}]:   File \"data.py\", line 3, in load{end}\
                     [rank{other}]: FileNotFoundError: [Errno 2] No such file or directory: '/data/x'{end}\
                     [rank{rank}]:     model(batch){end}\
                     [rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.{end}"
                )
            }
            2 => format!(
                "2026-09-14T{clock}.418203+00:00 lyra-047 kernel: [1770873.331098] NVRM: Xid (PCI:0000:c4:00): 79, pid=675990, \
                 name=python, GPU has fallen off the bus.{end}"
            ),
            3 => format!(
                "slurmstepd: error: *** STEP 90417.0 ON lyra-041 CANCELLED AT 2026-09-14T{clock} DUE TO TIME LIMIT ***{end}"
            ),
            4 => format!(
                "lyra-047:{rank}:{rank} [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.1<5> with status=12 opcode=0{end}"
            ),
            5 => format!(
                "[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0{end}               NVRM: (PCI ID: 10de:26b5) installed in this system has{end}\
                 \x20              NVRM: fallen off the bus and is not responding to commands.{end}"
            ),
            _ => format!(
                "step {rank} | \u{1b}[31mRuntimeError: CUDA error: an illegal memory access was encountered\u{1b}[0m{end}"
            ),
        }
    }
}

/// A log of at least `length` bytes. One in `rarity` lines is wanted, and some lie at and across every multiple of `chunk`.
pub(crate) fn log(seed: u64, length: usize, chunk: usize, rarity: usize) -> Vec<u8> {
    let numbers = &mut Numbers::new(seed);
    let mut log = Log { text: String::new(), numbers, second: 0 };
    let mut border = chunk;
    while log.text.len() < length {
        let gap = border.saturating_sub(log.text.len());
        if gap == 0 {
            border += chunk;
        } else if gap < 4096 {
            // A line as long as it takes for the next one to begin shortly before the border, at it or behind it.
            let wanted = log.wanted();
            let before = log.numbers.below(wanted.len() + 2);
            let filler = (gap + 1).saturating_sub(before).max(1) - 1;
            log.text.push_str(&"-".repeat(filler));
            log.text.push('\n');
            log.text.push_str(&wanted);
            border += chunk;
        } else if log.numbers.below(rarity) == 0 {
            let wanted = log.wanted();
            log.text.push_str(&wanted);
        } else {
            log.healthy();
        }
    }
    log.text.into_bytes()
}
