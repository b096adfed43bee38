// Everything that happens is an Observable: compose it with RxJS, or read it with `for await`.
//
// prints:
//   holiday.mov: 35 %
//   holiday.mov: 70 %
//   holiday.mov: 100 %
//   holiday.mov: COMPLETE
//   alarm: failed 3 times, the disk is full
//   done: 5
//   dead: 1
import { constant, createRuntime, defineJob } from 'jobchart'
import { bufferCount, concatMap, count, delay, filter, from, groupBy, map, mergeMap, of } from 'rxjs'

// A handler may return an Observable: each value is a check-in, the last one the output, unsubscription the cancel.
const transcode = defineJob<{ file: string }, number>({
  type: 'transcode',
  retry: { maxAttempts: 3, backoff: constant('1ms') },
  run: ({ file }) => {
    if (file === 'broken.mov') throw new Error('the disk is full')
    return from([35, 70, 100]).pipe(concatMap((percent) => of(percent).pipe(delay(5))))
  },
})

const tag = defineJob<{ file: string }, void>({ type: 'tag', run: async () => {} })

const runtime = createRuntime({ jobs: [transcode, tag], concurrency: 1 })

// Three failures of whatever job: wake somebody up.
const failures = runtime.events$.pipe(filter(({ event }) => event === 'FAIL'))
failures.pipe(bufferCount(3)).subscribe((three) => {
  console.log(`alarm: failed ${three.length} times, ${three.at(-1)?.error?.message}`)
})

// How jobs ended; counted when the runtime has stopped, for then its streams complete.
const ends = runtime.events$.pipe(filter(({ to }) => to === 'done' || to === 'dead'))
ends
  .pipe(
    groupBy(({ to }) => to),
    mergeMap((group) =>
      group.pipe(
        count(),
        map((jobs) => `${group.key}: ${jobs}`),
      ),
    ),
  )
  .subscribe((line) => console.log(line))

await runtime.start()

// One job, read at your own pace through a buffer that has a bound.
const job = await runtime.enqueue(transcode, { file: 'holiday.mov' })
for await (const { event, value, to } of job.events({ buffer: 64, overflow: 'drop-oldest' })) {
  if (event === 'CHECKIN') console.log('holiday.mov:', value, '%')
  if (to === 'done') console.log(`holiday.mov: ${event}`)
}

await runtime.enqueue(transcode, { file: 'broken.mov' })
await runtime.drain({ retries: true })
for (const file of ['a.mov', 'b.mov', 'c.mov', 'd.mov']) await runtime.enqueue(tag, { file })
await runtime.stop({ mode: 'drain' })
