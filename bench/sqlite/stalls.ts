/** What is left of the event loop for others while the store works. */
import { withFolder } from '../harness/disk.ts'
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import { spreadRows } from '../rows.ts'
import type { Section } from '../suite.ts'
import type { StallsParams, StallsResult } from './stalls.probe.ts'

export const stalls: Section = {
  name: 'stalls',
  title: (bench) =>
    `time between two turns of a 1 ms timer of the main thread, ${bench.sized(100_000).toLocaleString('en-US')} jobs`,
  run: (bench) =>
    withFolder(async (folder) => {
      const probe = (slots: number, thread: boolean) => () =>
        inFreshProcess<Measure<StallsParams, StallsResult>>(new URL('stalls.probe.ts', import.meta.url), {
          folder,
          jobs: bench.sized(100_000),
          slots,
          thread,
        })
      const results = await interleaved(bench, Math.min(bench.rounds, 3), {
        ten: probe(10, false),
        hundred: probe(100, false),
        threaded: probe(100, true),
      })
      const rows = (name: string, which: keyof typeof results, of: keyof StallsResult, bounded = true) =>
        spreadRows(
          name,
          results[which].map((result) => result[of]),
          bounded ? { p99: { atMost: 5 } } : {},
        )
      return {
        rows: [
          ...rows('nothing to do', 'ten', 'idle', false),
          ...rows('100 enqueues at once', 'ten', 'enqueueing'),
          ...rows('processing in 10 slots', 'ten', 'processing'),
          ...rows('processing in 100 slots', 'hundred', 'processing'),
          ...rows('thread: true, 100 enqueues at once', 'threaded', 'enqueueing'),
          ...rows('thread: true, processing in 100 slots', 'threaded', 'processing'),
        ],
      }
    }),
}
