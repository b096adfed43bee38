/** A job and its children, loaded page by page and kept current by the live stream. */
import { signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { FamilyView } from '../family.ts'
import type { LiveTransition } from '../live-messages.ts'
import { laneAfter, type Lane } from '../waterfall/lanes.ts'
import type { FamilyMember, Members } from '../waterfall/rows.ts'
import { ApiError, get, jobPath } from './api.ts'
import { useLive } from './live.ts'

/** Jobs that the page keeps of one family. */
const membersMax = 20_000
/** Of the first page, so that it is there soon, and of the others. */
const pageFirst = 100
const pageNext = 500
/** Machines whose children are loaded without being asked for. */
const openedByItself = 12
/** So late are new children looked for, ms: they come in herds. */
const laterMs = 400

export class Family {
  readonly members = signal<Members>(new Map())
  /** The way to what has failed: the child, its child, and so on. */
  readonly failed = signal<readonly Lane[]>([])
  readonly parent = signal<Lane | null>(null)
  readonly error = signal<ApiError | null>(null)
  /** Are all children of the root there, or as many as are kept? */
  readonly isWhole = signal(false)
  private readonly root: string
  private readonly closed = new AbortController()
  private readonly loading = new Set<string>()
  /** Jobs of which more is to be loaded, and whether their own lane has changed alone. */
  private readonly stale = new Map<string, 'lane' | 'children'>()
  private timer: ReturnType<typeof setTimeout> | null = null
  private openedAlone = 0

  constructor(root: string) {
    this.root = root
  }

  close(): void {
    this.closed.abort()
    if (this.timer !== null) clearTimeout(this.timer)
  }

  /** Loads what follows the children that are known, page by page. */
  async load(id: string): Promise<void> {
    if (this.loading.has(id)) return
    this.loading.add(id)
    try {
      let hasMore = true
      while (hasMore && this.members.value.size < membersMax) hasMore = await this.loadPage(id)
      if (id === this.root) this.isWhole.value = true
      this.error.value = null
    } catch (error) {
      if (this.closed.signal.aborted) return
      this.error.value = error instanceof ApiError ? error : new ApiError('BROKEN', String(error))
    } finally {
      this.loading.delete(id)
    }
  }

  private async loadPage(id: string): Promise<boolean> {
    const known = this.members.value.get(id)?.children ?? []
    const last = known.at(-1)
    const view = await this.view(id, last === undefined ? pageFirst : pageNext, last)
    const members = new Map(this.members.value)
    add(members, view.job, view)
    for (const child of view.children) {
      if (!members.has(child.id)) members.set(child.id, memberOf(child))
    }
    this.members.value = members
    if (id === this.root) {
      this.parent.value = view.parent
      if (last === undefined) this.openFirst(view)
    }
    return view.next !== null
  }

  /** Opens the way to what has failed, and the machines of a small family. */
  private openFirst({ failed, children }: FamilyView): void {
    this.failed.value = failed
    for (const lane of failed) {
      if (!this.members.value.has(lane.id)) continue
      if (lane.isMachine) void this.load(lane.id)
    }
    const machines = children.filter(({ isMachine }) => isMachine)
    for (const { id } of machines.slice(0, openedByItself - this.openedAlone)) {
      this.openedAlone++
      void this.load(id)
    }
  }

  /** Loads the children of each job on the way to what has failed, the outer ones first. */
  async openWay(): Promise<void> {
    for (const { id, isMachine } of this.failed.value) if (isMachine) await this.load(id)
  }

  /** Applies what the live stream tells. */
  take(transitions: readonly LiveTransition[]): void {
    const own = transitions.filter(({ id }) => this.members.value.has(id))
    if (own.length === 0) return
    const members = new Map(this.members.value)
    for (const transition of own) {
      const { id, event } = transition
      const member = members.get(id)
      if (member === undefined) continue
      members.set(id, { ...member, lane: laneAfter(member.lane, transition) })
      const isOpen = id === this.root || member.children.length > 0
      if (member.lane.isMachine && isOpen) this.stale.set(id, 'children')
      else if ((event === 'FAIL' || event === 'EXPIRE') && !this.stale.has(id)) this.stale.set(id, 'lane')
    }
    this.members.value = members
    if (this.stale.size > 0) this.timer ??= setTimeout(() => void this.renew(), laterMs)
  }

  /** Everything anew: the stream has left something out. */
  reset(): void {
    this.members.value = new Map()
    void this.load(this.root)
  }

  private async renew(): Promise<void> {
    this.timer = null
    const stale = [...this.stale].slice(0, openedByItself)
    for (const [id] of stale) this.stale.delete(id)
    await Promise.all(stale.map(([id, what]) => (what === 'children' ? this.load(id) : this.renewLane(id))))
    if (this.stale.size > 0) this.timer ??= setTimeout(() => void this.renew(), laterMs)
  }

  private async renewLane(id: string): Promise<void> {
    const view = await this.view(id, 0).catch(() => null)
    if (view === null) return
    const members = new Map(this.members.value)
    add(members, view.job, { ...view, next: members.get(id)?.hasMore === true ? id : null })
    this.members.value = members
  }

  private view(id: string, limit: number, after?: string): Promise<FamilyView> {
    const query = new URLSearchParams({ limit: String(limit), ...(after !== undefined && { after }) })
    return get<FamilyView>(`${jobPath(id)}/family?${query}`, this.closed.signal)
  }
}

const memberOf = (lane: Lane): FamilyMember => ({ lane, children: [], hasMore: lane.isMachine, states: [] })

function add(
  members: Map<string, FamilyMember>,
  lane: Lane,
  { children, next, states }: Pick<FamilyView, 'children' | 'next' | 'states'>,
): void {
  const known = members.get(lane.id)?.children ?? []
  const there = new Set(known)
  members.set(lane.id, {
    lane,
    children: [...known, ...children.map(({ id }) => id).filter((id) => !there.has(id))],
    hasMore: next !== null,
    states,
  })
}

export function useFamily(id: string): Family {
  const family = useMemo(() => new Family(id), [id])
  useEffect(() => {
    void family.load(id)
    return () => family.close()
  }, [family])
  useLive({ onTransitions: (transitions) => family.take(transitions), onReset: () => family.reset() })
  return family
}
