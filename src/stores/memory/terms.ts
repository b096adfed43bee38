/** The properties that a job gets from its enqueue. */
import type { JobMeta } from '../../core/record.ts'
import type { JobPins, NewJob } from '../../store.ts'

/** The parts of an insert that are terms. */
type TermsOfJob = Pick<
  NewJob,
  'priority' | 'maxAttempts' | 'pins' | 'tags' | 'key' | 'until' | 'concurrencyKey' | 'keyWeight'
> & {
  readonly meta?: JobMeta | null
}

interface RareTerms {
  readonly pins: JobPins | undefined
  readonly until: 'start' | undefined
  readonly meta: JobMeta | null
  readonly keyWeight: number | undefined
}

const noRareTerms: RareTerms = { pins: undefined, until: undefined, meta: null, keyWeight: undefined }

/** The properties that a job gets from its enqueue. Jobs with equal terms share one object. */
export class Terms {
  readonly priority: number
  readonly maxAttempts: number
  readonly tags: readonly string[]
  readonly key: string | null
  readonly concurrencyKey: string | null
  /** What few jobs have: jobs with different keys do not share terms, and each field here costs memory per job. */
  private readonly rare: RareTerms

  constructor(job: TermsOfJob) {
    this.priority = job.priority
    this.maxAttempts = job.maxAttempts
    this.tags = job.tags
    this.key = job.key
    this.concurrencyKey = job.concurrencyKey
    const { pins, until, meta = null, keyWeight } = job
    const isPlain = pins === undefined && until === undefined && meta === null && keyWeight === undefined
    this.rare = isPlain ? noRareTerms : { pins, until, meta, keyWeight }
  }

  get pins(): JobPins | undefined {
    return this.rare.pins
  }

  get until(): 'start' | undefined {
    return this.rare.until
  }

  get meta(): JobMeta | null {
    return this.rare.meta
  }

  get keyWeight(): number | undefined {
    return this.rare.keyWeight
  }

  /** A copy with these changes. */
  with(changed: Partial<TermsOfJob>): Terms {
    const { priority, maxAttempts, pins, tags, key, until, concurrencyKey, meta, keyWeight } = this
    const same = { priority, maxAttempts, tags, key, concurrencyKey, meta }
    const given = { ...(pins && { pins }), ...(until && { until }), ...(keyWeight && { keyWeight }) }
    return new Terms({ ...same, ...given, ...changed })
  }

  /** Are they equal to the terms of this job? */
  fit(job: NewJob): boolean {
    return (
      this.priority === job.priority &&
      this.maxAttempts === job.maxAttempts &&
      this.pins === job.pins &&
      this.tags === job.tags &&
      this.key === job.key &&
      this.until === job.until &&
      this.concurrencyKey === job.concurrencyKey &&
      this.keyWeight === job.keyWeight &&
      this.meta === (job.meta ?? null)
    )
  }
}
