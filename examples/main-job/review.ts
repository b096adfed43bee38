/**
 * What becomes of a suspicious file: its job is a machine that asks a person, and goes on by itself if nobody answers
 * in time.
 */
import { open } from 'node:fs/promises'
import { defineJob } from 'jobchart'
import { assign, fromPromise, setup } from 'xstate'

/** A text file with a line of this length was not made to be read: it is reviewed. */
export const suspiciousLineBytes = 500_000

export interface ReviewInput {
  readonly path: string
  /** Changes when the file does. */
  readonly version: string
  readonly longestBytes: number
}

interface Evidence {
  readonly begins: string
  /** Does its end name a source map, in which its source can be read? */
  readonly hasSourceMap: boolean
}

interface Context extends ReviewInput {
  readonly evidence: Evidence | null
}

const sampleBytes = 1_000

async function inspect(path: string): Promise<Evidence> {
  await using file = await open(path)
  const { size } = await file.stat()
  const read = async (position: number): Promise<string> => {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(sampleBytes), position })
    return buffer.toString('utf8', 0, bytesRead)
  }
  const end = await read(Math.max(0, size - sampleBytes))
  return { begins: (await read(0)).slice(0, 80).toWellFormed(), hasSourceMap: end.includes('sourceMappingURL=') }
}

export const reviewMachine = setup({
  types: {
    input: {} as ReviewInput,
    context: {} as Context,
    events: {} as { type: 'ACCEPT' } | { type: 'REJECT' } | { type: 'ASK_FOR_TIME' },
  },
  actors: { inspect: fromPromise<Evidence, string>(({ input }) => inspect(input)) },
  guards: { hasSourceMap: (_, evidence: Evidence) => evidence.hasSourceMap },
}).createMachine({
  id: 'review',
  description: 'A file with a line that nobody can read',
  context: ({ input }) => ({ ...input, evidence: null }),
  initial: 'inspecting',
  states: {
    inspecting: {
      description: 'Its beginning and its end are read',
      invoke: {
        src: 'inspect',
        input: ({ context }) => context.path,
        onDone: [
          {
            guard: { type: 'hasSourceMap', params: ({ event }) => event.output },
            target: 'accepted',
          },
          { target: 'deciding', actions: assign({ evidence: ({ event }) => event.output }) },
        ],
        onError: 'gone',
      },
    },
    deciding: {
      description: 'A person decides. It takes no slot, and its timer outlives the process',
      tags: 'asks',
      on: {
        ACCEPT: 'accepted',
        REJECT: 'rejected',
        ASK_FOR_TIME: { target: 'deciding', reenter: true },
      },
      after: { '10m': 'expired' },
    },
    accepted: { type: 'final' },
    rejected: { type: 'final' },
    expired: { type: 'final', description: 'Nobody objected' },
    gone: { type: 'final', description: 'It could not be read any more' },
  },
})

export const review = defineJob({ type: 'review', machine: reviewMachine })
