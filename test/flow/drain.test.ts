/** Drains, of a runtime that goes on and of one that stops: what they wait for, and what not. */
import { defineJob, memoryStore } from 'jobchart'
import { expect, test } from 'vitest'
import { fileStore } from '../support/file-store.ts'
import { world } from '../support/leaks.ts'

test.each(['memory', 'sqlite'] as const)(
  'a paused runtime that is asked to drain resumes and picks at once (%s)',
  async (kind) => {
    const { clock, store, idle } = world({ store: kind === 'memory' ? memoryStore() : fileStore() })
    await store.open({ clock })
    const startedAt: number[] = []
    const note = defineJob<number, void>({ type: 'note', run: async () => void startedAt.push(clock.monotonic()) })
    const runtime = idle({ jobs: [note] })
    await runtime.start()
    await runtime.pause()
    await runtime.enqueueMany(note, [1, 2, 3])
    // A store that others share looks a moment later whether there is something new.
    await clock.advance(10)
    const askedAt = clock.monotonic()
    const stopping = runtime.stop({ mode: 'drain', timeout: '30s' })
    expect(runtime.state).toBe('draining')
    await clock.advance('1m')
    expect(await stopping).toEqual({ completed: true, running: 0, dropped: 0 })
    expect(startedAt).toHaveLength(3)
    // A call to the file takes a turn of the loop, in which a millisecond of virtual time may pass.
    for (const at of startedAt) expect(at - askedAt).toBeLessThanOrEqual(kind === 'memory' ? 0 : 20)
  },
)
