/** The names of the keys. All of a namespace share one hash tag, so that in a cluster they lie in one slot. */
import { text } from '../../core/checks.ts'
import { invalidOption } from '../../core/errors.ts'
import type { ActivityPeriod } from '../../store.ts'
import type { CellKind } from '../remote/cells.ts'
import { scriptText, type DataField } from './row-text.ts'

const prefixText = text(200)

/**
 * What the names of all keys of a namespace begin with: `{jobs}:` of the prefix `jobs`; a prefix that has a hash tag
 * keeps it.
 * @throws JobchartError INVALID_OPTION
 */
export function namespaceOf(value: unknown, name = 'prefix'): string {
  const prefix = prefixText(value, name)
  const bare = prefix.endsWith(':') ? prefix.slice(0, -1) : prefix
  if (/\{[^{}]+\}/.test(bare)) return `${bare}:`
  if (bare === '' || /[{}]/.test(bare)) throw invalidOption(name, 'text without braces, or with one {tag}', prefix)
  return `{${bare}}:`
}

/** The keys of a namespace. Those that only scripts touch are named in `scripts/`. */
export class Keys {
  readonly namespace: string
  /** Every job: its row by its id. */
  readonly jobs: string
  /** Every job in the order of the enqueues: see blocks.ts. */
  readonly all: string
  /** Terms of jobs in order: see terms.ts. */
  readonly byTerm: string
  /** Jobs with a due time by that, and leased ones by the end of their lease. */
  readonly due: string
  readonly leases: string
  /** The jobs of claims with one lease, a zero byte between them; and by the name of a lease how many still have it. */
  readonly claims: string
  /** What is counted of types, and the number of the last transition: see figures.ts. */
  readonly figures: string
  /**
   * The log: a stream in which an entry has the number of the last of its
   * transitions.
   */
  readonly log: string
  /** The epochs of the log: an id, and the number of the last transition before it. */
  readonly epochs: string
  /** Jobs that were put off because no worker could run their machine. */
  readonly unsupported: string
  readonly workers: string
  /** Jobs that cannot be read: what stands there for their rows, by id. */
  readonly aside: string
  readonly seen: string
  /** The next ticks of schedules. */
  readonly ticks: string
  /** How long ended jobs are kept: those of a type, and under the empty name those of all types that are not here. */
  readonly retention: string
  /** Types that have ever had an ended job, by the time when their ended jobs are looked at. */
  readonly looks: string
  /** Types with limits, by the time when it is looked whether they are still used. */
  readonly limitLooks: string
  /** The channel of wake-ups, but for ends. */
  readonly hints: string
  /** The channel of ends, which most processes need not hear of. */
  readonly ends: string

  constructor(namespace: string) {
    this.namespace = namespace
    this.jobs = `${namespace}jobs`
    this.all = `${namespace}all`
    this.byTerm = `${namespace}by-term`
    this.due = `${namespace}due`
    this.leases = `${namespace}leases`
    this.claims = `${namespace}claims`
    this.figures = `${namespace}figures`
    this.log = `${namespace}log`
    this.epochs = `${namespace}epochs`
    this.unsupported = `${namespace}unsupported`
    this.workers = `${namespace}workers`
    this.aside = `${namespace}aside`
    this.seen = `${namespace}seen`
    this.ticks = `${namespace}ticks`
    this.retention = `${namespace}retention`
    this.looks = `${namespace}looks`
    this.limitLooks = `${namespace}limit-looks`
    this.hints = `${namespace}hints`
    this.ends = `${namespace}hints:ended`
  }

  /** A field of all jobs that is kept apart, by id. */
  data(field: DataField): string {
    return `${this.namespace}data:${field}`
  }

  /** What is kept of a job in keys of their own: it grows, or is mostly not read. */
  checkpoints(id: string): string {
    return `${this.namespace}checkpoints:${id}`
  }

  inbox(id: string): string {
    return `${this.namespace}inbox:${id}`
  }

  steps(id: string): string {
    return `${this.namespace}steps:${id}`
  }

  /** Ended jobs of a state and type in the order of their end: see blocks.ts. */
  ended(state: string, type: string): string {
    return `${this.namespace}ended:${state}:${scriptText(type)}`
  }

  /** Jobs of a type, in the order of their enqueue: with a due time, or ended but not done. */
  inOrder(state: string, type: string): string {
    return `${this.namespace}in-order:${state}:${scriptText(type)}`
  }

  /** Jobs whose last error has this fingerprint. */
  failing(fingerprint: string): string {
    return `${this.namespace}failing:${fingerprint}`
  }

  /** Groups of failures by the number of their last transition: of all types, by name; of one type, by fingerprint. */
  failures(type: string | null): string {
    return type === null ? `${this.namespace}failures` : `${this.namespace}failures:${scriptText(type)}`
  }

  /** A group of failures. */
  failure(name: string): string {
    return `${this.namespace}failure:${name}`
  }

  /** When the periods with activity have begun. */
  activity(period: ActivityPeriod): string {
    return `${this.namespace}activity:${period}`
  }

  /** The activity of a period: numbers by index of the figure and type. */
  activityAt(period: ActivityPeriod, at: string): string {
    return `${this.namespace}activity:${period}:${at}`
  }

  /**
   * The heat of the chart of a type in the hour that began at a time: a number by `n` and the name, and the job that
   * has counted it last by `j` and the name.
   */
  heatAt(type: string, at: number): string {
    return `${this.namespace}heat:${at}:${scriptText(type)}`
  }

  children(parent: string): string {
    return `${this.namespace}children:${parent}`
  }

  machineState(path: string): string {
    return `${this.namespace}machine-state:${path}`
  }

  machineTag(tag: string): string {
    return `${this.namespace}machine-tag:${tag}`
  }

  /** Jobs of a type that have not ended, by `state:PATH` and `tag:TAG` of their machines. */
  machineCounts(type: string): string {
    return `${this.namespace}machine-counts:${scriptText(type)}`
  }

  /** A hash of small values that operations read and write under the condition that they are what they were. */
  cells(kind: CellKind): string {
    return `${this.namespace}${kind}`
  }
}

/** The name of a group of failures. */
export function failureName(type: string, fingerprint: string): string {
  const name = scriptText(type)
  return `${Buffer.byteLength(name)}:${name}:${fingerprint}`
}

/**
 * The id in a member of a queue or of an index of times: sixteen digits go before it, so that of equals the older is
 * first.
 */
export const memberId = (member: string): string => member.slice(16)
