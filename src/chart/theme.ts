/** Colours of pictures, as CSS variables: the same names in light and dark. */

import { heatLevels } from './heat.ts'

/** The colours of a picture; `auto` follows the reader's `prefers-color-scheme`. */
export type Theme = 'light' | 'dark' | 'auto'

/** What a state means to the reader; a tone has a fill, a border and an ink. */
export type Tone =
  'neutral' | 'queued' | 'running' | 'retrying' | 'waiting' | 'done' | 'dead' | 'cancelling' | 'cancelled'

interface Shade {
  readonly fill: string
  readonly border: string
  readonly ink: string
}

interface Palette {
  readonly canvas: string
  /** The ground of states. */
  readonly surface: string
  /** The ground of states with states in them. */
  readonly group: string
  readonly border: string
  readonly ink: string
  readonly muted: string
  readonly line: string
  /** The ground of labels. */
  readonly label: string
  readonly accent: string
  /** Text on the accent, and on the ink of a tone. */
  readonly inverse: string
  readonly tones: Readonly<Record<Tone, Shade>>
}

const light: Palette = {
  canvas: '#ffffff',
  surface: '#ffffff',
  group: '#f8fafb',
  border: '#b4bdc7',
  ink: '#1f2630',
  muted: '#5b6672',
  line: '#7f8b98',
  label: '#edf0f3',
  accent: '#0b62d6',
  inverse: '#ffffff',
  tones: {
    neutral: { fill: '#ffffff', border: '#98a3af', ink: '#1f2630' },
    queued: { fill: '#eaf0f6', border: '#7f97b0', ink: '#3a536d' },
    running: { fill: '#e0efff', border: '#2f81e0', ink: '#0b4fa8' },
    retrying: { fill: '#fff3d4', border: '#d29a1a', ink: '#7a4d00' },
    waiting: { fill: '#f2eaff', border: '#9a6fe8', ink: '#5f35ad' },
    done: { fill: '#def7e5', border: '#2f9e51', ink: '#14612d' },
    dead: { fill: '#ffe9e7', border: '#dc4a43', ink: '#a1161f' },
    cancelling: { fill: '#f1f3f5', border: '#8a949f', ink: '#4d5763' },
    cancelled: { fill: '#f1f3f5', border: '#a3acb6', ink: '#4d5763' },
  },
}

const dark: Palette = {
  canvas: '#0d1117',
  surface: '#171b22',
  group: '#12161c',
  border: '#4a535f',
  ink: '#e4e9ef',
  muted: '#98a3b0',
  line: '#7d8895',
  label: '#242b34',
  accent: '#6aaaf8',
  inverse: '#0d1117',
  tones: {
    neutral: { fill: '#171b22', border: '#57616d', ink: '#e4e9ef' },
    queued: { fill: '#1b2530', border: '#64809c', ink: '#b4c8dc' },
    running: { fill: '#12294a', border: '#3f8cf0', ink: '#9ccbff' },
    retrying: { fill: '#33260c', border: '#b98518', ink: '#f0c766' },
    waiting: { fill: '#291f40', border: '#8b66d6', ink: '#ccb4fb' },
    done: { fill: '#11301d', border: '#35924f', ink: '#84dba0' },
    dead: { fill: '#3a1719', border: '#d24b46', ink: '#ffaca5' },
    cancelling: { fill: '#20252c', border: '#78828d', ink: '#b9c2cc' },
    cancelled: { fill: '#20252c', border: '#5c6570', ink: '#b9c2cc' },
  },
}

export const tones = Object.keys(light.tones) as Tone[]

function variables(palette: Palette): string {
  const { tones: shades, ...plain } = palette
  const lines = Object.entries(plain).map(([name, value]) => `--jc-${name}:${value}`)
  for (const [tone, { fill, border, ink }] of Object.entries(shades)) {
    lines.push(`--jc-${tone}-fill:${fill}`, `--jc-${tone}-border:${border}`, `--jc-${tone}-ink:${ink}`)
  }
  return lines.join(';')
}

const rules: readonly string[] = [
  '{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans","Liberation Sans",Arial,sans-serif;color-scheme:light dark}',
  ' text{fill:var(--jc-ink);font-size:12px}',
  ' .jc-canvas{fill:var(--jc-canvas)}',
  ' .jc-root>rect{fill:var(--jc-canvas);stroke:var(--jc-border);stroke-width:1}',
  ' .jc-box>rect{fill:var(--jc-surface);stroke:var(--jc-border);stroke-width:1.5}',
  ' .jc-group>rect{fill:var(--jc-group)}',
  ' .jc-region>rect{fill:none;stroke:none}',
  ' .jc-boxed>rect{fill:none;stroke:var(--jc-border);stroke-dasharray:5 4}',
  ' .jc-inner{fill:none!important}',
  ' .jc-hatch{fill:none;stroke-width:1;opacity:.55}',
  ' .jc-history>circle{fill:var(--jc-surface);stroke:var(--jc-border);stroke-width:1.5}',
  ' .jc-history>text{font-size:11px;font-weight:600;text-anchor:middle;fill:var(--jc-muted)}',
  ' .jc-cancelling .jc-name{paint-order:stroke;stroke:var(--jc-cancelling-fill);stroke-width:4px;stroke-linejoin:round}',
  ' .jc-cancelling.jc-active .jc-name{stroke:none}',
  ' .jc-separator{stroke:var(--jc-border);stroke-width:1.5;stroke-dasharray:5 4}',
  ' .jc-rule{stroke:var(--jc-border);stroke-width:1;opacity:.7}',
  ' .jc-edge{fill:none;stroke:var(--jc-line);stroke-width:1.5}',
  ' .jc-tip{fill:var(--jc-line);stroke:none}',
  ' .jc-heat{stroke-opacity:.9}',
  ' .jc-heat-0{opacity:.35}',
  ...Array.from({ length: heatLevels }, (_, i) => ` .jc-heat-${i + 1}.jc-edge{stroke-width:${(17 + i * 7) / 10}}`),
  ' .jc-dot{fill:var(--jc-ink)}',
  ' .jc-label>rect{fill:var(--jc-label)}',
  ' .jc-always>rect{fill:none}',
  ' .jc-heading{font-size:15px;font-weight:600}',
  ' .jc-name{font-size:14px;font-weight:600}',
  ' .jc-event{font-weight:500}',
  ' .jc-guard{fill:var(--jc-muted)}',
  ' .jc-action,.jc-key{font-size:11px;fill:var(--jc-muted)}',
  ' .jc-times{font-size:11px;fill:var(--jc-muted)}',
  ' .jc-stuck>rect{stroke:var(--jc-dead-border);stroke-width:2;filter:drop-shadow(0 0 6px var(--jc-dead-border))}',
  ' .jc-stuck .jc-times{fill:var(--jc-dead-ink)}',
  ' .jc-note{fill:var(--jc-muted)}',
  ' .jc-chip>rect{fill:var(--jc-label)}',
  ' .jc-chip>text{font-size:10.5px;fill:var(--jc-muted)}',
  ' .jc-icon{fill:none;stroke:var(--jc-muted);stroke-width:1.25;stroke-linecap:round;stroke-linejoin:round}',
  ' .jc-count>text{font-size:11px;font-weight:600;text-anchor:middle}',
  ' .jc-count>rect{fill:var(--jc-label)}',
  ' .jc-step>rect{fill:var(--jc-accent)}',
  ' .jc-step>text{font-size:10.5px;font-weight:600;text-anchor:middle;fill:var(--jc-inverse)}',
  ' .jc-taken.jc-edge{stroke:var(--jc-accent);stroke-width:2}',
  ' .jc-taken.jc-tip{fill:var(--jc-accent)}',
  ' .jc-active>rect{fill:var(--jc-accent);stroke:var(--jc-accent)}',
  ' .jc-active.jc-group>rect{fill:var(--jc-group);stroke-width:2}',
  ' .jc-active.jc-region>rect{fill:none;stroke:none}',
  ' .jc-active.jc-root>rect{fill:var(--jc-canvas)}',
  ' .jc-active:not(.jc-group) text{fill:var(--jc-inverse)}',
  ' .jc-active:not(.jc-group) .jc-icon,.jobchart .jc-active:not(.jc-group) .jc-rule{stroke:var(--jc-inverse)}',
  ' .jc-active:not(.jc-group) .jc-chip>rect,.jobchart .jc-active:not(.jc-group) .jc-count>rect{fill:var(--jc-inverse);opacity:.2}',
]

const toneRules = (tone: Tone): readonly string[] => [
  ` .jc-${tone}>rect{fill:var(--jc-${tone}-fill);stroke:var(--jc-${tone}-border)}`,
  ` .jc-${tone} .jc-name{fill:var(--jc-${tone}-ink)}`,
  ` .jc-${tone} .jc-hatch{stroke:var(--jc-${tone}-border)}`,
  ` .jc-${tone} .jc-count>rect{fill:var(--jc-${tone}-ink)}`,
  ` .jc-${tone} .jc-count>text{fill:var(--jc-inverse)}`,
  ` .jc-${tone}.jc-active>rect{fill:var(--jc-${tone}-ink);stroke:var(--jc-${tone}-ink)}`,
  ` .jc-${tone}.jc-active .jc-name{fill:var(--jc-inverse)}`,
]

/**
 * The style sheet of a picture. A page whose policy forbids styles in the picture (`style: 'none'`) serves it as its
 * own.
 * @param theme `auto` follows the reader's `prefers-color-scheme`
 */
export function chartStyles(theme: Theme): string {
  const scoped = (rule: string): string => `.jobchart${rule}`
  const palette = `.jobchart-${theme}{${variables(theme === 'dark' ? dark : light)}}`
  const night = theme === 'auto' ? `@media (prefers-color-scheme:dark){.jobchart-auto{${variables(dark)}}}` : ''
  const meaning = tones.filter((tone) => tone !== 'neutral').flatMap(toneRules)
  return [palette, night, ...[...rules, ...meaning].map(scoped)].filter((line) => line !== '').join('\n')
}
