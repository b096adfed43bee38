/** States and transitions as single lines of text, for the formats that draw no boxes of their own. */
import { counted } from '../core/counted.ts'
import { hasOwnId, transitionsInside, type ChartGraph, type ChartState, type ChartTransition } from './graph.ts'

/** Guards as they are read: `[isPaid]`, `[else]`, `[else isPaid]`. */
export function guardLabel({ guard, otherwise }: ChartTransition): string {
  if (guard === null) return otherwise ? '[else]' : ''
  return otherwise ? `[else ${guard}]` : `[${guard}]`
}

/** One transition in a line: `FAIL [mayRetry] / note`. */
export function transitionLine(transition: ChartTransition): string {
  const { label, actions } = transition
  const effect = actions.length === 0 ? '' : `/ ${actions.join(', ')}`
  return [label, guardLabel(transition), effect].filter((part) => part !== '').join(' ')
}

/** What stands in a state for its child states that are not drawn. */
export const hiddenText = ({ hidden }: ChartState): string => `… ${counted(hidden, 'state')}`

/** What a state does, a line each. */
export function stateLines(graph: ChartGraph, state: ChartState): string[] {
  return [
    ...state.entry.map((action) => `entry / ${action}`),
    ...state.exit.map((action) => `exit / ${action}`),
    ...state.invokes.map((invoke) => `invoke ${hasOwnId(invoke) ? invoke.id : invoke.source}`),
    ...transitionsInside(graph, state).map((each) => `${transitionLine(each)}${each.forbidden ? ' (forbidden)' : ''}`),
    ...(state.hidden > 0 ? [hiddenText(state)] : []),
  ]
}
