/** The language of the oracle's cases: a chart as plain data, whose named actions report what they are given. */
import type { Json } from 'jobchart'
import { Observable } from 'rxjs'
import {
  Actor,
  fromCallback,
  fromObservable,
  fromPromise,
  fromTransition,
  setup,
  type AnyActorLogic,
  type AnyActorRef,
  type AnyEventObject,
  type AnyStateMachine,
  type MachineConfig,
  type MachineContext,
  type ParameterizedObject,
  type ProvidedActor,
} from 'xstate'

type FreeConfig = MachineConfig<
  MachineContext,
  AnyEventObject,
  ProvidedActor,
  ParameterizedObject,
  ParameterizedObject,
  string,
  string,
  unknown,
  unknown,
  AnyEventObject
>

/** An XState config whose actions, guards and actors are named freely. */
export type Config = Omit<FreeConfig, 'context' | 'output'> & {
  readonly context?: MachineContext | ((from: ContextArguments) => MachineContext)
  readonly output?: Json | ((from: { context: MachineContext; event: AnyEventObject; self: AnyActorRef }) => unknown)
}

interface ContextArguments {
  readonly input: MachineContext
  readonly self: AnyActorRef
  readonly spawn: (src: string, options?: { id?: string; input?: unknown; systemId?: string }) => AnyActorRef
}

export interface Implementations {
  /** An action that has more to do than to report. */
  readonly actions?: Readonly<Record<string, unknown>>
  /** Names of actions that the config does not show, because they are enqueued. */
  readonly enqueued?: readonly string[]
  readonly guards?: Readonly<Record<string, unknown>>
  readonly delays?: Readonly<
    Record<string, number | ((from: { context: MachineContext; event: AnyEventObject }) => number)>
  >
  readonly actors?: Readonly<Record<string, AnyActorLogic>>
}

/** What a life gives to the charts of its case. */
export interface Tools {
  /** An effect of a named action or of an actor's work. */
  tell(kind: 'did' | 'work', what: string): void
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Makes machines and actors for one life of a case. */
export class Workshop {
  private readonly tools: Tools

  constructor(tools: Tools) {
    this.tools = tools
  }

  /** Reports what an actor's work does. */
  work(what: string): void {
    this.tools.tell('work', what)
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.tools.sleep(ms, signal)
  }

  machine(config: Config, given: Implementations = {}): AnyStateMachine {
    const names = new Set([...namesIn(config), ...(given.enqueued ?? [])])
    const reporting = [...names].map((name) => [
      name,
      ({ context, event }: { context: unknown; event: AnyEventObject }, params: unknown) =>
        this.tools.tell(
          'did',
          [name, text(event), text(context), ...(params === undefined ? [] : [text(params)])].join(' '),
        ),
    ])
    const actions = { ...Object.fromEntries(reporting), ...given.actions } as Record<string, never>
    const parts = { actions, guards: given.guards, delays: given.delays, actors: given.actors }
    return setup(parts as never).createMachine(config as never) as unknown as AnyStateMachine
  }

  /**
   * A promise that settles after so many ms with what `settle` gives; 0: at once. Without a name it reports nothing.
   */
  promise(name: string, ms: number, settle: (input: unknown) => unknown = () => name): AnyActorLogic {
    return fromPromise<unknown, unknown>(async ({ input, signal }) => {
      if (name !== '') {
        this.tools.tell('work', `${name} begins ${text(input)}`)
        signal.addEventListener('abort', () => this.tools.tell('work', `${name} aborted`))
      }
      if (ms > 0) await this.tools.sleep(ms, signal)
      return settle(input)
    })
  }

  /** A callback that does what `work` says, and reports its beginning, its end and what it hears. */
  callback(
    name: string,
    work: (
      send: (event: AnyEventObject) => void,
      input: unknown,
      emit: (event: AnyEventObject) => void,
    ) => void = () => {},
    hears: (event: AnyEventObject, send: (event: AnyEventObject) => void) => void = () => {},
  ): AnyActorLogic {
    return fromCallback<AnyEventObject, unknown, AnyEventObject>(({ sendBack, receive, input, emit }) => {
      this.tools.tell('work', `${name} begins ${text(input)}`)
      receive((event) => {
        this.tools.tell('work', `${name} hears ${text(event)}`)
        hears(event, sendBack)
      })
      work(sendBack, input, emit)
      return () => this.tools.tell('work', `${name} ends`)
    })
  }

  /** An observable of these values, each after so many ms; it completes after the last, if it is to. */
  observable(
    name: string,
    ms: number,
    values: readonly unknown[],
    end: 'complete' | 'stay' | Error = 'complete',
  ): AnyActorLogic {
    return fromObservable(() => this.values(name, ms, values, end))
  }

  values<T>(name: string, ms: number, values: readonly T[], end: 'complete' | 'stay' | Error): Observable<T> {
    return new Observable<T>((subscriber) => {
      this.tools.tell('work', `${name} begins`)
      const ending = new AbortController()
      const go = async (): Promise<void> => {
        for (const value of values) {
          if (ms > 0) await this.tools.sleep(ms, ending.signal)
          subscriber.next(value)
        }
        if (end === 'complete') subscriber.complete()
        else if (end !== 'stay') subscriber.error(end)
      }
      go().catch(() => {})
      return () => ending.abort(new Error('unsubscribed'))
    })
  }

  sum(): AnyActorLogic {
    return fromTransition((sum: number, event: { type: string; n?: number }) => sum + (event.n ?? 0), 0)
  }
}

const lists = new Set(['entry', 'exit', 'actions'])

function* namesIn(part: unknown, key = ''): Iterable<string> {
  if (Array.isArray(part)) for (const each of part) yield* namesIn(each, key)
  else if (typeof part === 'string') {
    if (lists.has(key)) yield part
  } else if (typeof part === 'object' && part !== null && Object.getPrototypeOf(part) === Object.prototype) {
    if (lists.has(key) && 'type' in part && typeof part.type === 'string') yield part.type
    else for (const [inner, each] of Object.entries(part)) yield* namesIn(each, inner)
  }
}

/** A value as one line: keys in order, actors by their ids, errors by what they say. */
export function text(value: unknown): string {
  return JSON.stringify(plain(value, 0)) ?? 'undefined'
}

function plain(value: unknown, depth: number): unknown {
  if (value instanceof Actor) return `actor ${value.id}`
  if (value instanceof Error) return `${value.name}: ${value.message}`
  if (typeof value !== 'object' || value === null || depth > 20) return value
  if (Array.isArray(value)) return value.map((each) => plain(each, depth + 1))
  if ('xstate$$type' in value && 'id' in value) return `actor ${String(value.id)}`
  if ('stack' in value && 'message' in value && 'name' in value)
    return `${String(value.name)}: ${String(value.message)}`
  // A snapshot is compared by what it says.
  if ('machine' in value && 'value' in value && 'context' in value && 'status' in value) {
    const { status, value: state, context, output } = value as Record<string, unknown>
    return plain({ status, value: state, context, output }, depth)
  }
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, plain(each, depth + 1)]),
  )
}
