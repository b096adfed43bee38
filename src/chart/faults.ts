/** What is wrong with a layout: boxes over boxes, lines through boxes. A layout with the fewest faults is taken. */
import { boxesOverlap, contains, lineEnters, linesCross, segments } from './geometry.ts'
import { lineage, statesById } from './graph.ts'
import { textBox } from './headings.ts'
import type { ChartLayout } from './layout-types.ts'

interface Faults {
  /** Boxes that overlap, and lines through boxes that are not theirs. */
  readonly overlaps: number
  /** Lines through the name of a state around them. */
  readonly headings: number
  /** Lines that cross. */
  readonly crossings: number
}

export function findFaults(layout: ChartLayout): Faults {
  return {
    overlaps: countOverlaps(layout) + countCrossedBoxes(layout),
    headings: countHeadings(layout),
    crossings: countCrossings(layout),
  }
}

function countOverlaps({ states, labels, graph }: ChartLayout): number {
  const byId = statesById(graph)
  const boxes = new Map(states.map(({ state, box }) => [state.id, box]))
  let count = 0
  for (const [index, { box, container }] of labels.entries()) {
    for (const other of labels.slice(index + 1)) if (boxesOverlap(box, other.box)) count += 1
    const around = new Set(lineage(byId, container))
    for (const placed of states) {
      if (!around.has(placed.state.id)) {
        if (boxesOverlap(box, placed.box)) count += 1
      } else if (boxesOverlap(box, textBox(placed)) || !contains(placed.box, box)) count += 1
    }
  }
  for (const [index, { state, box }] of states.entries()) {
    for (const other of states.slice(index + 1)) {
      if (other.state.parent === state.parent && boxesOverlap(box, other.box)) count += 1
    }
    const outer = boxes.get(state.parent ?? '')
    if (outer !== undefined && !contains(outer, box)) count += 1
  }
  return count
}

/** Lines that run through labels or states that are not theirs. */
function countCrossedBoxes({ states, labels, edges, graph }: ChartLayout): number {
  const byId = statesById(graph)
  const labelled = new Set(labels.map(({ id }) => id))
  let count = 0
  for (const edge of edges) {
    // A labelled arrow is two lines: one from the source to the label, one from the label to the target.
    const isTwo = edge.arrow !== null && labelled.has(edge.arrow)
    const ends = edge.isHead ? (isTwo ? edge.targets : [edge.source, ...edge.targets]) : [edge.source]
    const around = new Set(ends.flatMap((id) => (id === null ? [] : lineage(byId, id))))
    for (const [a, b] of segments(edge.points)) {
      for (const { box } of labels) if (lineEnters(a, b, box)) count += 1
      for (const { state, box } of states) {
        if ((!around.has(state.id) || state.children.length === 0) && lineEnters(a, b, box)) count += 1
      }
    }
  }
  return count
}

function countHeadings({ states, edges }: ChartLayout): number {
  let count = 0
  for (const placed of states) {
    if (placed.state.children.length === 0) continue
    const box = textBox(placed)
    for (const { points } of edges) for (const [a, b] of segments(points)) if (lineEnters(a, b, box)) count += 1
  }
  return count
}

function countCrossings({ edges }: ChartLayout): number {
  const lines = edges.map(({ points, arrow }) => ({ arrow, parts: segments(points) }))
  let count = 0
  for (const [index, line] of lines.entries()) {
    for (const other of lines.slice(index + 1)) {
      if (line.arrow !== null && line.arrow === other.arrow) continue
      for (const a of line.parts) for (const b of other.parts) if (linesCross(a, b)) count += 1
    }
  }
  return count
}
