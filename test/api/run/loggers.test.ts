/** Real loggers as they are: message and fields arrive in each, and what an error says with them. */
import { Console } from 'node:console'
import { Writable } from 'node:stream'
import { createRuntime, JobchartError, memoryStore } from 'jobchart'
import { fastify } from 'fastify'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { guarded, type Logger } from '../../../src/core/logger.ts'

interface Winston {
  createLogger(options: object): Partial<Logger> & { child(bindings: object): Partial<Logger> }
  readonly format: { json(): unknown }
  readonly transports: { readonly Stream: new (options: { readonly stream: Writable }) => object }
}

// By its name at run time: an installation without it still compiles. Its types are compared in
// test/built/types.test.ts.
const name: string = 'winston'
const { default: winston } = (await import(name)) as { readonly default: Winston }

function lines() {
  const written: string[] = []
  const stream = new Writable({ write: (chunk, _encoding, done) => (written.push(String(chunk)), done()) })
  return { stream, written }
}

const winstonTo = (stream: Writable): ReturnType<Winston['createLogger']> =>
  winston.createLogger({
    level: 'debug',
    format: winston.format.json(),
    transports: [new winston.transports.Stream({ stream })],
  })

const message = 'a write failed, 100 %s done'
const error = new JobchartError('STORE_UNAVAILABLE', 'no disk', { hint: 'Mount it.', cause: new TypeError('EIO') })
const shown = {
  name: 'JobchartError',
  code: 'STORE_UNAVAILABLE',
  message: 'no disk',
  hint: 'Mount it.',
  cause: { name: 'TypeError', message: 'EIO' },
}

const json: Readonly<Record<string, [messageKey: string, make: (stream: Writable) => Partial<Logger>]>> = {
  pino: ['msg', (stream) => pino({ level: 'debug' }, stream)],
  'a child of pino': ['msg', (stream) => pino({ level: 'debug' }, stream).child({ part: 'jobs' })],
  'the log of Fastify': ['msg', (stream) => fastify({ logger: { stream, level: 'debug' } }).log],
  winston: ['message', winstonTo],
  'a child of winston': ['message', (stream) => winstonTo(stream).child({ part: 'jobs' })],
}

test.each(Object.entries(json))('%s gets message, fields and errors', (_, [messageKey, make]) => {
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    const { stream, written } = lines()
    const logger = guarded(make(stream))
    logger[level](message, { error, id: 'a', type: 'mail' })
    logger[level]('alone')
    const [first, second] = written.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(first, level).toMatchObject({ [messageKey]: message, id: 'a', type: 'mail', error: shown })
    expect(second, level).toMatchObject({ [messageKey]: 'alone' })
  }
})

test('console gets message and fields, also of a message with a percent sign', () => {
  const { stream, written } = lines()
  const logger = guarded(new Console({ stdout: stream, stderr: stream }))
  logger.warn(message, { error, id: 'a' })
  logger.info('alone')
  expect(written.join('')).toMatch(/^a write failed, 100 %s done \{\n?\s+error: JobchartError: no disk/)
  expect(written.join('')).toMatch(/id: 'a'[^]*\}\nalone\n$/)
})

test('an own logger gets the fields as they are, and only the methods that it has are called', () => {
  const calls: unknown[][] = []
  const logger = guarded({ warn: (...args: unknown[]) => void calls.push(args) })
  logger.warn(message, { error })
  logger.error('dropped')
  expect(calls).toEqual([[message, { error }]])
})

test('createRuntime takes each of them, in its types and at its door', () => {
  const { stream } = lines()
  const jobs = [] as const
  const store = memoryStore()
  for (const logger of [pino(stream), winstonTo(stream), console, fastify({ logger: { stream } }).log, {}]) {
    expect(() => createRuntime({ jobs, store, logger })).not.toThrow()
  }
  createRuntime({ jobs, logger: pino(stream) })
  createRuntime({ jobs, logger: winstonTo(stream) })
  createRuntime({ jobs, logger: console })
})
