/** What the machine of a job waits for: the events that it takes, each with a form, and its timers. */
import { ownValue } from '../../core/own-value.ts'
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Json } from '../../index.ts'
import type { JobView } from '../job-view.ts'
import type { MachineShown } from '../machine-shown.ts'
import { ApiError, jobPath, post } from './api.ts'
import { FormDialog, say } from './dialog.tsx'
import { eventFields, fieldsOf, jsonIn, type Field, type FormValues } from './event-fields.ts'
import { countdown, date } from './words.ts'

interface EventsProps {
  readonly of: MachineShown
  readonly canSend: boolean
  readonly onSend: (type: string) => void
}

export function Events({ of: { events }, canSend, onSend }: EventsProps): JSX.Element {
  if (events.length === 0) return <p class="muted">It waits for no event.</p>
  return (
    <div class="actions start">
      {events.map(({ type, accepted }) => (
        <button
          key={type}
          type="button"
          disabled={!canSend}
          title={accepted ? 'It takes this event now' : 'A guard refuses this event without fields'}
          class={accepted ? 'event' : 'event quiet'}
          onClick={() => onSend(type)}
        >
          {type}
        </button>
      ))}
    </div>
  )
}

export const Timers = ({
  of: { timers },
  from,
}: {
  readonly of: MachineShown
  readonly from: number
}): JSX.Element | null =>
  timers.length === 0 ? null : (
    <ul class="timers" aria-label="Timers">
      {timers.map(({ event, label, at }, i) => (
        <li key={`${event} ${i}`}>
          <span>{label}</span>
          <b>{countdown(at, from)}</b>
          <span class="muted">{date(at)}</span>
        </li>
      ))}
    </ul>
  )

interface SendDialogProps {
  readonly of: JobView
  readonly type: string
  readonly refresh: () => void
  readonly onClose: () => void
}

/** Sends an event with its fields: those of its schema, or any as JSON. It stays open when the event is refused. */
export function SendDialog({ of: { job, machine }, type, refresh, onClose }: SendDialogProps): JSX.Element {
  const schema = machine?.events.find((each) => each.type === type)?.schema ?? null
  const fields = useMemo(() => fieldsOf(schema), [schema])
  const [values, setValues] = useState<FormValues>({})
  const [problem, setProblem] = useState<string | null>(null)
  const send = async (): Promise<void> => {
    try {
      const event = fields === null ? objectIn(String(values['json'] ?? '')) : eventFields(fields, values)
      await post(`${jobPath(job.id)}/send`, { event: { ...event, type } })
      refresh()
      say(`${type} was sent.`)
      onClose()
    } catch (error) {
      setProblem(error instanceof ApiError ? `${error.message}. ${error.hint ?? ''}` : (error as Error).message)
    }
  }
  const set = (name: string, value: string | boolean): void => setValues((before) => ({ ...before, [name]: value }))
  return (
    <FormDialog title={`Send ${type}?`} verb="Send" onConfirm={send} onClose={onClose}>
      <p>It is kept with the job and read once.</p>
      {fields === null ? (
        <label>
          Fields as JSON, if the event has any
          <textarea
            rows={3}
            placeholder={'{"by": "ada"}'}
            value={String(values['json'] ?? '')}
            onInput={(event) => set('json', event.currentTarget.value)}
          />
        </label>
      ) : (
        fields.map((field) => (
          <FieldInput key={field.name} of={field} value={ownValue(values, field.name) ?? field.initial} onValue={set} />
        ))
      )}
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </FormDialog>
  )
}

function objectIn(text: string): Record<string, Json> {
  const value = text.trim() === '' ? {} : jsonIn('This', text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('Fields are a JSON object.')
  return value
}

interface FieldInputProps {
  readonly of: Field
  readonly value: string | boolean
  readonly onValue: (name: string, value: string | boolean) => void
}

function FieldInput({ of, value, onValue }: FieldInputProps): JSX.Element {
  const { name, title, description, required } = of
  if (of.kind === 'flag') {
    return (
      <label class="flag">
        <input
          type="checkbox"
          checked={value === true}
          onChange={(event) => onValue(name, event.currentTarget.checked)}
        />
        {title} <small>{description}</small>
      </label>
    )
  }
  const shared = { name, required, value: String(value) }
  const text = (event: { readonly currentTarget: { readonly value: string } }): void =>
    onValue(name, event.currentTarget.value)
  return (
    <label>
      {title}
      {!required && ' (may be left empty)'}
      {of.kind === 'choice' && (
        <select {...shared} onChange={text}>
          <option value="" />
          {of.choices.map((choice) => (
            <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
              {typeof choice === 'string' ? choice : JSON.stringify(choice)}
            </option>
          ))}
        </select>
      )}
      {of.kind === 'number' && (
        <input {...shared} type="number" step={of.step} min={of.min} max={of.max} onInput={text} />
      )}
      {of.kind === 'text' && (
        <input
          {...shared}
          inputMode={of.input}
          minLength={of.min}
          maxLength={of.max}
          pattern={of.pattern}
          onInput={text}
        />
      )}
      {of.kind === 'json' && <textarea {...shared} rows={3} placeholder="JSON" onInput={text} />}
      {description !== '' && <small>{description}</small>}
    </label>
  )
}
